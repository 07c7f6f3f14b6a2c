"""Where in the program's files an equation comes from."""

import os

from jax._src import source_info_util


def source_of(equation):
    """train.py:52 (attention), or nothing where no frame of the program is known."""
    frame = user_frame(equation.source)
    if frame is None:
        return ""
    function = frame.function_name.rpartition(".")[2]
    return f"{os.path.basename(frame.file_name)}:{frame.start_line} ({function})"


def user_frame(source):
    """The innermost frame that is not JAX's, or None."""
    return source_info_util.user_frame(source.traceback)
