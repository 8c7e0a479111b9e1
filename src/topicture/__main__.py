"""`python -m topicture`, where the command is not on the path."""

from importlib import import_module

if __name__ == "__main__":
    import_module("topicture.app.cli.main").main()
