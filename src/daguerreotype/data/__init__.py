"""The border of the package: every input is read and checked here, from Python and from the command line alike."""

from typing import TYPE_CHECKING

from daguerreotype._lib.imports import lazy_names

if TYPE_CHECKING:
    from daguerreotype.data.formats import FORMATS as FORMATS
    from daguerreotype.data.formats import FormatEntry as FormatEntry
    from daguerreotype.data.kinds import KINDS as KINDS
    from daguerreotype.data.kinds import Kind as Kind
    from daguerreotype.data.moments import Moments as Moments
    from daguerreotype.data.readers import read_table as read_table
    from daguerreotype.data.scales import SCALES as SCALES
    from daguerreotype.data.scales import ColumnScales as ColumnScales
    from daguerreotype.data.scales import Scale as Scale
    from daguerreotype.data.table import Table as Table

# Loaded on first use: moments need numba, which a file that cannot be read should not wait for.
__getattr__ = lazy_names(
    __name__,
    {
        "formats": "FORMATS FormatEntry",
        "kinds": "KINDS Kind",
        "moments": "Moments",
        "readers": "read_table",
        "scales": "SCALES ColumnScales Scale",
        "table": "Table",
    },
)
