# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the places of a C++ file where a mutant can be made, and writes the
file with all of them in it, each behind `fusecMutant(ID)`.

libclang gives the tree; every rule below looks at one kind of node. A mutant
never changes the number of lines, so compile errors point at the original. A
site whose mutant does not compile is dropped (`Mutator.settle`).
"""
import dataclasses
import re

import clang.cindex as ci

K = ci.CursorKind
B = ci.BinaryOperator

# Messages and other code that no result depends on, as statements to delete or
# as calls whose arguments to leave alone.
_TALK = re.compile(
    r"\b(emit(Op)?(Error|Warning|Remark)|notifyMatchFailure|createStringError|"
    r"createError|invalid|fail|attachNote|assert|LLVM_DEBUG|dbgs|errs|"
    r"llvm_unreachable|reserve|consumeError|report\w*|remark\w*|explain\w*)\b")
_MACRO = re.compile(r"\b(assert|LLVM_DEBUG|static_assert|[A-Z][A-Z0-9]*_[A-Z0-9_]+)\s*\(")

# Operands of these may change places.
_COMMUTES = re.compile(
    r"(Add|Mul|Max|Min|And|Or|XOr)[A-Za-z]*|\b(add|mul|max|min|equal|gcd|swap|lcm)\w*")

# Ops that are made instead of others: from, to.
_OPS = {a: b for a, b in [
    ("AddIOp", "SubIOp"), ("SubIOp", "AddIOp"), ("MulIOp", "AddIOp"),
    ("AddFOp", "SubFOp"), ("SubFOp", "AddFOp"), ("MulFOp", "AddFOp"),
    ("DivFOp", "MulFOp"), ("DivSIOp", "DivUIOp"), ("DivUIOp", "RemUIOp"),
    ("RemSIOp", "DivSIOp"), ("RemUIOp", "DivUIOp"), ("AndIOp", "OrIOp"),
    ("OrIOp", "AndIOp"), ("XOrIOp", "OrIOp"), ("MaxSIOp", "MinSIOp"),
    ("MinSIOp", "MaxSIOp"), ("MaxUIOp", "MaxSIOp"), ("MinUIOp", "MinSIOp"),
    ("MaximumFOp", "MaxNumFOp"), ("MinimumFOp", "MinNumFOp"),
    ("MaxNumFOp", "MaximumFOp"), ("MinNumFOp", "MinimumFOp"),
    ("ExtSIOp", "ExtUIOp"), ("ExtUIOp", "ExtSIOp"), ("SIToFPOp", "UIToFPOp"),
    ("UIToFPOp", "SIToFPOp"), ("FPToSIOp", "FPToUIOp"),
    ("FPToUIOp", "FPToSIOp"), ("ShRSIOp", "ShRUIOp"), ("ShRUIOp", "ShRSIOp"),
    ("ShLIOp", "ShRUIOp")]}
_OP_NAME = re.compile(r"\b(%s)\b" % "|".join(_OPS))

_BINARY = {
    B.Add: ("offset", "{l} - {r}"), B.Sub: ("offset", "{l} + {r}"),
    B.Mul: ("stride", "{l} + {r}"), B.Div: ("stride", "{l} * {r}"),
    B.Rem: ("wrap", "{l}"), B.Shl: ("stride", "{l} >> {r}"),
    B.Shr: ("stride", "{l} << {r}"), B.And: ("mask", "{l} | {r}"),
    B.Or: ("mask", "{l} & {r}"), B.LT: ("tail", "{l} <= {r}"),
    B.LE: ("tail", "{l} < {r}"), B.GT: ("tail", "{l} >= {r}"),
    B.GE: ("tail", "{l} > {r}"), B.EQ: ("condition", "{l} != {r}"),
    B.NE: ("condition", "{l} == {r}"),
}

# In text that becomes kernels: the first that matches, once.
_TEXT = [(" % ", " / "), (" / ", " * "), (" + ", " - "), (" - ", " + "),
         (" * ", " + "), (" < ", " <= "), (" <= ", " < "), (" > ", " >= "),
         (" >= ", " > "), (" == ", " != "), (" && ", " || "), ("++", "--"),
         (" += ", " = "), (" = 0", " = 1"), ("sync", "")]

_SCALARS = {ci.TypeKind.BOOL, ci.TypeKind.INT, ci.TypeKind.UINT, ci.TypeKind.LONG,
            ci.TypeKind.ULONG, ci.TypeKind.LONGLONG, ci.TypeKind.ULONGLONG,
            ci.TypeKind.SHORT, ci.TypeKind.USHORT, ci.TypeKind.UCHAR, ci.TypeKind.SCHAR,
            ci.TypeKind.CHAR_S, ci.TypeKind.FLOAT, ci.TypeKind.DOUBLE, ci.TypeKind.ENUM,
            ci.TypeKind.POINTER}
# Types that own nothing, without spaces (`Mutator._plain`).
_VALUES = re.compile(
    r"mlir::(Value|Type|Attribute|Location|AffineExpr|AffineMap|Affine\w+Expr|OpResult|"
    r"BlockArgument|\w+Type|\w+Attr|ValueRange|OpFoldResult|TypeRange)|"
    r"llvm::(ArrayRef<.*>|StringRef|APInt|APFloat)|fusec::\w+::\w+(Attr|Type)")

_EXPRESSIONS = {K.CALL_EXPR, K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR,
                K.UNARY_OPERATOR, K.UNEXPOSED_EXPR}
_BODIES = {K.COMPOUND_STMT, K.IF_STMT, K.FOR_STMT, K.CXX_FOR_RANGE_STMT,
           K.WHILE_STMT}


@dataclasses.dataclass
class Site:
    start: int
    end: int
    kind: str          # mask, swap, ... (README.md lists them)
    text: str          # what stands there instead, for people
    wrap: object       # (test, inner) -> source
    function: str
    line: int = 0
    key: str = ""
    number: int = 0
    partner: object = None  # of the other half of a swap


class Mutator:
    """The sites of one file.

    `main` is the file to compile, where `path` is included by it; with
    `device` the text is that of kernels: mutants are constants at its compile
    time. `emits` says that string literals are pieces of such text."""

    def __init__(self, path, arguments, main=None, device=False, emits=False):
        self.path, self.arguments, self.main = path, arguments, main or path
        self.device, self.emits = device, emits
        self.data = open(path, "rb").read()
        self.index = ci.Index.create(excludeDecls=True)
        self.sites = []
        self.function = ""
        self.quiet = self._macros()
        unit = self._parse(None)
        self.problems = [str(d) for d in unit.diagnostics if d.severity >= 3]
        for cursor in unit.cursor.get_children():
            if self._mine(cursor):
                self._visit(cursor, None)
        self._finish()

    def _parse(self, text):
        unsaved = [(self.path, text)] if text is not None else None
        return self.index.parse(self.main, self.arguments, unsaved_files=unsaved)

    # --- tree ---------------------------------------------------------------

    def _macros(self):
        """Ranges of the arguments of macros."""
        ranges = []
        text = self.data.decode("latin-1")
        for match in _MACRO.finditer(text):
            depth, at = 1, match.end()
            while depth and at < len(text):
                depth += {"(": 1, ")": -1}.get(text[at], 0)
                at += 1
            ranges.append((match.start(), at))
        for match in re.finditer(r"^[ \t]*#.*(\\\n.*)*", text, re.M):
            ranges.append(match.span())
        return ranges

    def _mine(self, cursor):
        file = cursor.location.file
        return file is not None and file.name == self.path

    def _range(self, cursor):
        extent = cursor.extent
        start, end = extent.start, extent.end
        if not start.file or start.file.name != self.path or not end.file or \
                end.file.name != self.path:
            return None
        a, b = start.offset, end.offset
        if a >= b or any(s < b and a < e for s, e in self.quiet):
            return None
        return a, b

    def _source(self, cursor):
        span = self._range(cursor)
        return self.data[span[0]:span[1]].decode("latin-1") if span else ""

    def _add(self, cursor, kind, text, wrap):
        span = self._range(cursor)
        # The operand of a call at the end of a chain is the chain.
        if not span or self._source(cursor).split() == text.split():
            return None
        site = Site(*span, kind, text, wrap, self.function)
        self.sites.append(site)
        return site

    def _replace(self, cursor, kind, text):
        """The expression becomes `text`, of the same type."""
        self._add(cursor, kind, text,
                  lambda test, inner: f"({test} ? ({text}) : ({inner}))")

    def _visit(self, cursor, parent):
        kind = cursor.kind
        if kind in (K.FUNCTION_DECL, K.CXX_METHOD, K.CONSTRUCTOR, K.FUNCTION_TEMPLATE,
                    K.CONVERSION_FUNCTION):
            self.function = cursor.spelling
            head = self._source(cursor).split("{")[0]
            if not self.device and re.search(r"\bconstexpr\b|\bconsteval\b", head):
                return
        if kind == K.VAR_DECL and not self.device and re.match(
                r"(static\s+|inline\s+)*constexpr\b", self._source(cursor)):
            return
        if kind == K.STATIC_ASSERT or kind == K.ENUM_DECL:
            return
        if kind == K.CALL_EXPR and _TALK.search(self._source(cursor).split("(")[0]):
            return
        children = list(cursor.get_children())
        self._rules(cursor, parent, children)
        if kind == K.CASE_STMT:
            children = children[1:]
        for child in children:
            if self._mine(child):
                self._visit(child, cursor)

    # --- rules --------------------------------------------------------------

    def _rules(self, cursor, parent, children):
        kind = cursor.kind
        if kind in (K.IF_STMT, K.CONDITIONAL_OPERATOR, K.WHILE_STMT) and children:
            self._condition(children[0])
        elif kind == K.RETURN_STMT and children and \
                children[0].type.get_canonical().kind == ci.TypeKind.BOOL:
            self._condition(children[0])
        elif kind == K.BINARY_OPERATOR and len(children) == 2:
            self._binary(cursor, parent, children)
        elif kind == K.UNARY_OPERATOR and children and \
                self._source(cursor).startswith("-") and \
                not self._source(cursor).startswith("--"):
            self._replace(cursor, "identity", self._source(children[0]))
        elif kind == K.COMPOUND_ASSIGNMENT_OPERATOR and len(children) == 2:
            self._compound(cursor, children)
        elif kind == K.INTEGER_LITERAL:
            self._integer(cursor)
        elif kind == K.FLOATING_LITERAL:
            text = self._source(cursor)
            self._replace(cursor, "identity", f"{text} + 1")
        elif kind == K.CXX_BOOL_LITERAL_EXPR:
            self._replace(cursor, "flag",
                          "false" if self._source(cursor) == "true" else "true")
        elif kind == K.DECL_REF_EXPR:
            self._enumerator(cursor)
        elif kind == K.CALL_EXPR:
            self._call(cursor, parent)
        elif kind == K.STRING_LITERAL and self.emits:
            self._text(cursor)
        if parent is not None and parent.kind in _BODIES and kind in _EXPRESSIONS:
            self._statement(cursor, parent)

    def _condition(self, cursor):
        if cursor.kind.is_expression():
            self._add(cursor, "condition", f"!({self._source(cursor)})",
                      lambda test, inner:
                      f"({test} != static_cast<bool>({inner}))")

    def _binary(self, cursor, parent, children):
        whole = parent is not None and parent.kind in (K.IF_STMT, K.RETURN_STMT)
        left, right = map(self._source, children)
        if not left or not right:
            return
        if cursor.binary_operator in (B.LAnd, B.LOr):
            for keep in (left, right):
                self._add(cursor, "mask", keep,
                          lambda test, inner, keep=keep:
                          f"({test} ? static_cast<bool>({keep}) : ({inner}))")
            return
        rule = _BINARY.get(cursor.binary_operator)
        if rule and not (whole and rule[0] == "condition"):
            self._replace(cursor, rule[0],
                          rule[1].format(l=f"({left})", r=f"({right})"))

    def _compound(self, cursor, children):
        left, right = map(self._source, children)
        other = {"+=": "-=", "-=": "+=", "*=": "+=", "/=": "*=", "|=": "=",
                 "&=": "=", "%=": "+=", "<<=": ">>=", ">>=": "<<="}
        middle = self.data[self._range(children[0])[1]:self._range(children[1])[0]] \
            .decode("latin-1").strip() if left and right else ""
        if middle in other:
            self._replace(cursor, "offset", f"{left} {other[middle]} {right}")

    def _integer(self, cursor):
        text = self._source(cursor)
        if re.fullmatch(r"\d+[uUlL]*", text):
            digits = re.match(r"\d+", text).group()
            value = 1 if digits == "0" else int(digits) - 1
            self._replace(cursor, "off-by-one", text.replace(digits, str(value), 1))

    def _enumerator(self, cursor):
        constant = cursor.referenced
        if constant is None or constant.kind != K.ENUM_CONSTANT_DECL:
            return
        names = [c.spelling for c in constant.semantic_parent.get_children()
                 if c.kind == K.ENUM_CONSTANT_DECL]
        if len(names) < 2:
            return
        other = names[(names.index(constant.spelling) + 1) % len(names)]
        text = re.sub(r"\b%s$" % re.escape(constant.spelling), other, self._source(cursor))
        if text != self._source(cursor):
            self._replace(cursor, "identity", text)

    def _call(self, cursor, parent):
        source = self._source(cursor)
        if not source or "(" not in source:
            return
        if re.fullmatch(r"operator(=|[-+*/|&]=|<<|>>|\[\]|\(\)|\+\+|--|->|\*)", cursor.spelling):
            return
        arguments = list(cursor.get_arguments())
        callee = source.split("(")[0]
        match = _OP_NAME.search(callee)
        if match and not re.search(r"[^=!<>]=[^=]", callee):
            other = source[:match.start()] + _OPS[match.group()] + source[match.end():]
            self._add(cursor, "op", other, lambda test, inner:
                      f"({test} ? mlir::Value({other}) : mlir::Value({inner}))")
        if not _COMMUTES.search(callee):
            self._swap(arguments)
        self._lost(cursor, parent, arguments)

    def _alike(self, a, b):
        """Whether a choice between two expressions of one type is what each of
        them is, so that nothing refers to a copy that is gone."""
        return self._category(a) == self._category(b) or \
            a.type.get_canonical().kind in _SCALARS or _VALUES.fullmatch(str(self._plain(a)))

    def _category(self, cursor):
        while cursor.kind == K.UNEXPOSED_EXPR:
            below = list(cursor.get_children())
            if len(below) != 1:
                break
            cursor = below[0]
        if cursor.kind in (K.DECL_REF_EXPR, K.MEMBER_REF_EXPR, K.ARRAY_SUBSCRIPT_EXPR):
            return "place"
        if cursor.kind == K.CALL_EXPR and cursor.referenced is not None:
            kind = cursor.referenced.result_type.kind
            return "place" if kind == ci.TypeKind.LVALUEREFERENCE else \
                "moved" if kind == ci.TypeKind.RVALUEREFERENCE else "value"
        return "other"

    def _swap(self, arguments):
        for a, b in zip(arguments, arguments[1:]):
            first, second = self._source(a), self._source(b)
            if not first or not second or first == second or \
                    "std::move" in first + second or \
                    self._range(a)[1] > self._range(b)[0] or \
                    self._plain(a) != self._plain(b) or not self._alike(a, b):
                continue
            one = self._add(a, "swap", f"{second}, {first}", lambda test, inner, o=second:
                            f"({test} ? ({o}) : ({inner}))")
            one.partner = self._add(b, "half", one.text, lambda test, inner, o=first:
                                    f"({test} ? ({o}) : ({inner}))")

    def _plain(self, cursor):
        while cursor.kind == K.UNEXPOSED_EXPR:
            below = list(cursor.get_children())
            if len(below) != 1:
                break
            cursor = below[0]
        text = cursor.type.get_canonical().spelling
        # In a template equal spellings may be different types.
        if self.device and re.search(r"type-parameter|auto|typename|\bMap[A-Z]?\b", text):
            return cursor.hash
        return re.sub(r"\bconst\b|&| ", "", text) or cursor.hash

    def _lost(self, cursor, parent, arguments):
        """A call becomes its operand: a cast, a rounding, a clamp is lost."""
        if parent is not None and parent.kind in _BODIES:
            return
        kind = self._plain(cursor)
        makes_op = re.fullmatch(r"(mlir|fusec)::\w+(::\w+)*Op", kind) is not None
        for argument in arguments:
            text = self._source(argument)
            if not text or "std::move" in text:
                continue
            other = self._plain(argument)
            if makes_op and re.search(r"mlir::(Value|OpResult|detail::TypedValue|TypedValue)\b", str(other)):
                self._add(cursor, "lost", text, lambda test, inner, text=text:
                          f"({test} ? mlir::Value({text}) : mlir::Value({inner}))")
                return
            if other == kind and self._alike(cursor, argument) and not re.search(r"Builder|Location|Context|bool|\*", kind):
                self._replace(cursor, "lost", text)
                return

    def _text(self, cursor):
        source = self._source(cursor)
        for old, new in _TEXT:
            if old in source:
                self._replace(cursor, "text", source.replace(old, new, 1))
                return

    def _statement(self, cursor, parent):
        source = self._source(cursor)
        if not source or _TALK.search(source) or source.startswith(("(void)", "delete")):
            return
        # Not the condition or the head of a loop.
        span = self._range(cursor)
        if self.data[span[1]:].lstrip()[:1] != b";":
            return
        before = self.data[:span[0]].rstrip()[-1:]
        if parent.kind != K.COMPOUND_STMT and before not in (b")", b"e"):
            return
        if parent.kind == K.FOR_STMT and before != b")":
            return
        kind = "barrier" if re.search(r"[bB]arrier|[sS]ync|fence|[wW]ait", source) else \
            "key" if re.search(r"\b(key|hash|digest)\w*\b", source, re.I) else "statement"
        self._add(cursor, kind, "", lambda test, inner:
                  "if (%s) {} else %s" % (test, inner))

    # --- numbering, text ----------------------------------------------------

    def _finish(self):
        seen, unique = set(), []
        for site in self.sites:
            mark = (site.start, site.end, site.kind, site.text)
            if mark in seen:
                continue
            seen.add(mark)
            site.line = self.data.count(b"\n", 0, site.start) + 1
            unique.append(site)
        kept = {id(site.partner) for site in unique}
        self.sites = [s for s in unique if s.kind != "half" or id(s) in kept]
        counts = {}
        for site in self.sites:
            site.text = " ".join(site.text.split())
            original = " ".join(self.data[site.start:site.end].decode("latin-1").split())
            site.original = original
            stem = f"{site.function}|{site.kind}|{original}|{site.text}"
            counts[stem] = counts.get(stem, 0) + 1
            site.key = f"{stem}|{counts[stem]}"

    def number(self, first):
        for site in self.sites:
            if site.kind != "half":
                site.number = first
                if site.partner:
                    site.partner.number = first
                first += 1
        return first

    def render(self):
        """The file with every mutant, each between marks of its number."""
        def emit(start, end, sites):
            out, at, i = [], start, 0
            while i < len(sites):
                site = sites[i]
                inside = [s for s in sites[i + 1:] if s.start < site.end]
                if any(s.end > site.end for s in inside):
                    raise ValueError(f"{self.path}:{site.line}: sites overlap")
                out.append(self.data[at:site.start].decode("latin-1"))
                inner = emit(site.start, site.end, inside)
                test = f"fusecMutant({site.number})"
                out.append(f"/*<{site.number}*/{site.wrap(test, inner)}/*>{site.number}*/")
                at = site.end
                i += 1 + len(inside)
            out.append(self.data[at:end].decode("latin-1"))
            return "".join(out)
        # A site that holds another comes first; of equal ranges, the last found.
        order = sorted(enumerate(self.sites),
                       key=lambda p: (p[1].start, -p[1].end, -p[0]))
        return emit(0, len(self.data), [site for _, site in order])

    def settle(self, head):
        """Drops sites that do not compile. Returns the text and their count."""
        dropped = 0
        for _ in range(40):
            text = head + self.render()
            unit = self._parse(text)
            bad = set()
            errors = [d for d in unit.diagnostics if d.severity >= 3]
            if not errors:
                return text, dropped, []
            for diagnostic in errors:
                bad |= self._blame(text, diagnostic)
            if not bad:
                bad = self._search(head)
            dropped += len(bad)
            self.sites = [s for s in self.sites if s.number not in bad]
        return text, dropped, ["does not settle"]

    def _search(self, head):
        """Halves the sites until those of one function are at fault."""
        suspects, everything = self.sites, self.sites
        names = sorted({site.function for site in suspects})
        while len(names) > 1:
            half = set(names[:len(names) // 2])
            self.sites = [s for s in everything if s.function in half]
            unit = self._parse(head + self.render())
            wrong = any(d.severity >= 3 for d in unit.diagnostics)
            names = sorted(half) if wrong else names[len(names) // 2:]
        self.sites = everything
        return {s.number for s in everything if s.function == names[0]}

    def _blame(self, text, diagnostic):
        """Numbers of the innermost site around an error or its notes."""
        for entry in [diagnostic] + list(diagnostic.children):
            where = entry.location
            if not where.file or where.file.name != self.path:
                continue
            depth = []
            for mark in re.finditer(r"/\*([<>])(\d+)\*/", text[:where.offset]):
                depth.append(int(mark[2])) if mark[1] == "<" else depth.pop()
            if depth:
                return {depth[-1]}
            # In the same statement, then in the lines above.
            rest = text[where.offset:].split(";", 1)[0]
            lines = text[:where.offset].splitlines()[-8:] + [rest]
            for line in reversed(lines):
                found = [int(n) for n in re.findall(r"/\*<(\d+)\*/", line)]
                if found:
                    return set(found)
        return set()
