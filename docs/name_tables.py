"""Tables of the names for ``method=`` and ``weights=``, from what the package knows by name."""

from sphinx.util.docutils import SphinxDirective


def rows(which):
    """Return (name, class, first line of its docstring) of every name."""
    from counterpoise.risk import METHODS
    from counterpoise.weights.names import NAMES

    estimators = {name: make() for name, make in NAMES.items()}
    known = METHODS if which == "risk" else estimators
    return [
        (name, type(value).__name__, type(value).__doc__.strip().splitlines()[0])
        for name, value in known.items()
    ]


class NameTable(SphinxDirective):
    """``.. name-table:: risk`` or ``weights``."""

    required_arguments = 1

    def run(self):
        package = self.arguments[0]
        lines = [".. list-table::", "   :header-rows: 1", "", "   * - name", "     - object"]
        lines.append("     - what it is")
        for name, own, words in rows(package):
            lines += [f"   * - ``{name}``", f"     - ``{package}.{own}``", f"     - {words}"]
        return self.parse_text_to_nodes("\n".join(lines))
