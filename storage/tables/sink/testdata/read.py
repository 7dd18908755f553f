# Reads a file of the table "every" with Python's own modules and prints its rows, each as a list in JSON.
import csv, json, sqlite3, sys

path = sys.argv[1]
csv.field_size_limit(1 << 30)


def cells():
    # newline="" leaves line breaks as they are; a quoted empty cell and an empty one are alike to this reader
    with open(path, newline="", encoding="utf-8") as f:
        yield from csv.reader(f)


if path.endswith(".csv"):
    rows = list(cells())[1:]
elif path.endswith(".jsonl"):
    with open(path, newline="\n", encoding="utf-8") as f:
        rows = [list(json.loads(line).values()) for line in f]
else:
    rows = [list(r) for r in sqlite3.connect(path).execute("SELECT * FROM every ORDER BY rowid")]
json.dump(rows, sys.stdout)
