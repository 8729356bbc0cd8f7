"""Talks to a language server: opens a wrong and a right file, hovers."""
import json
import subprocess
import sys

TYPE = "tensor<4xf32>"
GOOD = f"func.func @f(%a: {TYPE}) -> {TYPE} {{\n  %b = graph.add %a, %a : {TYPE}\n  return %b : {TYPE}\n}}\n"
BAD = GOOD.replace("graph.add %a, %a", "graph.add %a, %a, %a")

server = subprocess.Popen(
    [sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
)


def send(method, params, number=None):
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        message["id"] = number
    text = json.dumps(message).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
    server.stdin.flush()


def receive():
    length = 0
    while (line := server.stdout.readline().strip()) != b"":
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return json.loads(server.stdout.read(length))


def open_file(uri, text):
    document = {"uri": uri, "languageId": "mlir", "version": 1, "text": text}
    send("textDocument/didOpen", {"textDocument": document})
    while (message := receive()).get("method") != "textDocument/publishDiagnostics":
        pass
    return message["params"]["diagnostics"]


send("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1)
receive()
send("initialized", {})
for diagnostic in open_file("file:///bad.mlir", BAD):
    print("diagnostic:", diagnostic["message"])
for diagnostic in open_file("file:///good.mlir", GOOD):
    print("unexpected:", diagnostic["message"])
position = {"line": 1, "character": 9}
send("textDocument/hover", {"textDocument": {"uri": "file:///good.mlir"}, "position": position}, 2)
print("hover:", json.dumps(receive()["result"]))
send("shutdown", None, 3)
receive()
send("exit", None)
server.wait(timeout=10)
