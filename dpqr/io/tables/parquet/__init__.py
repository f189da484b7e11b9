"""Parquet tables: sizes of pages are read before they are decoded, Arrow decodes.

Why not pyarrow and its limits alone. Whoever writes a cell decides how long its text is, and an honest writer packs
repeated long texts into a few bytes (dictionaries, DELTA_BYTE_ARRAY). Arrow unpacks them by rows, not by bytes: a file
of kilobytes fills any machine. Neither the footer's sizes nor the limits on Thrift tell; the page headers do. A cap on
the process' memory would end other work in it and does not exist on every system, and a process of its own would read
every table at twice the start-up. The footer is read here, too, because pyarrow ends the whole process where it makes
an object of a chunk in some damaged footers. What rows can still end is paid for.
"""
