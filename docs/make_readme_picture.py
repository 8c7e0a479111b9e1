"""Draw docs/images/scenes.jpg: a sheet of the sample collection.

python docs/make_readme_picture.py
"""

from pathlib import Path

from PIL import Image

from topicture.demo.scenes import render_scene

CHOSEN = (2, 20, 39, 44, 52, 60, 66, 205)
WIDTH, HEIGHT, COLUMNS, GAP = 256, 192, 4, 6


def main() -> None:
    rows = -(-len(CHOSEN) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * (WIDTH + GAP) - GAP, rows * (HEIGHT + GAP) - GAP), "white")
    for i, index in enumerate(CHOSEN):
        row, column = divmod(i, COLUMNS)
        picture = Image.fromarray(render_scene(0, index, WIDTH, HEIGHT).pixels)
        sheet.paste(picture, (column * (WIDTH + GAP), row * (HEIGHT + GAP)))
    path = Path(__file__).parent / "images" / "scenes.jpg"
    path.parent.mkdir(exist_ok=True)
    sheet.save(path, quality=88)


if __name__ == "__main__":
    main()
