"""``python -m pairdp``, the same as ``pairdp``."""

from pairdp.cli.main import main

if __name__ == "__main__":
    main(prog_name="pairdp")
