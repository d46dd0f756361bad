"""``python -m pairdp.demo``, the same as ``pairdp demo``."""

from pairdp.demo.run import main

if __name__ == "__main__":
    main()
