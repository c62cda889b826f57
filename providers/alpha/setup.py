"""The part of alpha's build that needs code; build_alpha.py describes the native module itself."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HEADER = "substrates_kernel.h"
IN_CHECKOUT = Path("../../api/src/substrates/include")
IN_SDIST = Path("native/include")  # a source distribution stands alone, so it carries a copy

# Found by path and not through a build requirement on `substrates`: a build must not depend on what an index
# happens to serve under that name.
include = IN_CHECKOUT if (IN_CHECKOUT / HEADER).exists() else IN_SDIST


class BuildExt(build_ext):
    """Compiles again when a source, a header, or a compiler setting has changed."""

    def finalize_options(self) -> None:
        super().finalize_options()
        settings = Path(self.build_temp, "settings")
        now = "\n".join(f"{name}={os.environ.get(name, '')}" for name in ("CC", "CFLAGS", "LDFLAGS"))
        if not settings.exists() or settings.read_text() != now:
            settings.parent.mkdir(parents=True, exist_ok=True)
            settings.write_text(now)
        inputs = [Path("build_alpha.py"), Path("setup.py"), include / HEADER, settings]
        inputs += [path for path in Path("native").rglob("*") if path.suffix in {".c", ".h"}]
        for extension in self.extensions:
            extension.include_dirs += ["native", str(include)]
            extension.depends += [str(path) for path in inputs]


class BuildPy(build_py):
    """Leaves out modules that an earlier build had and the source tree no longer has."""

    def run(self) -> None:
        if not self.editable_mode:
            for left_over in Path(self.build_lib).rglob("*.py*"):
                left_over.unlink()
        super().run()


class Sdist(sdist):
    """Adds the api's kernel header."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        if include == IN_CHECKOUT:
            target = Path(base_dir, IN_SDIST)
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(IN_CHECKOUT / HEADER, target / HEADER)


setup(
    cffi_modules=["build_alpha.py:ffibuilder"],
    cmdclass={"build_ext": BuildExt, "build_py": BuildPy, "sdist": Sdist},
)
