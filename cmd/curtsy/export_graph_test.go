package main

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage"
	"curtsy/storage/warc"
)

// archivedLinks are the distinct pairs of page and target that the metadata records of a crawl name, and all pages.
func archivedLinks(t *testing.T, dir string) (pairs, pages map[string]bool) {
	t.Helper()
	pairs, pages = map[string]bool{}, map[string]bool{}
	segments, err := filepath.Glob(filepath.Join(dir, crawldir.ArchiveName, "*.warc.gz"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("no archive: %v", err)
	}
	for _, segment := range segments {
		f, err := os.Open(segment)
		if err != nil {
			t.Fatal(err)
		}
		for r := warc.NewReader(f); ; {
			rec, err := r.Next()
			if err != nil {
				break
			}
			if rec.Type != "metadata" || rec.IsRefusals() {
				continue
			}
			l, links, err := rec.Metadata()
			if err != nil {
				t.Fatal(err)
			}
			if l.Decision == storage.DecisionRobots {
				continue
			}
			pages[l.URL] = true
			for _, o := range links {
				pages[o.URL] = true
				if o.URL != l.URL {
					pairs[l.URL+"\t"+o.URL] = true
				}
			}
		}
		f.Close()
	}
	return pairs, pages
}

// linesOfZip are the lines of a file.
func linesOfZip(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// The graph of pages has the links of the archive, each once.
func TestExportMakesTheGraphOfTheArchive(t *testing.T) {
	t.Parallel()
	dir, _ := crawledOnce(t, crawltest.Tree("bakery.test", 12))
	pairs, pages := archivedLinks(t, dir)
	out := filepath.Join(t.TempDir(), "out")
	r := inside(t, "export", "--format", "webgraph", "--graph", "pages", "--json", "-o", out, dir)
	r.want(t, cli.ExitDone)
	var made struct {
		Vertices, Edges int
		Files           []string
	}
	if err := json.Unmarshal([]byte(r.out), &made); err != nil || made.Vertices != len(pages) || made.Edges != len(pairs) || len(made.Files) != 3 || len(pairs) < 10 {
		t.Fatalf("%v: %s; %d pages and %d pairs in the archive", err, r.out, len(pages), len(pairs))
	}
	names := map[string]string{}
	for _, line := range linesOfZip(t, filepath.Join(out, "pages-vertices.txt.gz")) {
		id, name, _ := strings.Cut(line, "\t")
		names[id] = name
	}
	for _, line := range linesOfZip(t, filepath.Join(out, "pages-edges.txt.gz")) {
		from, to, _ := strings.Cut(line, "\t")
		if pair := names[from] + "\t" + names[to]; !pairs[pair] {
			t.Errorf("an edge that is no link: %q", pair)
		}
	}
	// What is ours is replaced.
	inside(t, "export", "--format", "webgraph", "--graph", "pages", "-o", out, dir).want(t, cli.ExitDone, "graph of pages")
	for _, name := range []string{"graphml", "gexf"} {
		inside(t, "export", "--format", name, "-o", out, dir).want(t, cli.ExitDone, "graph of hosts: 1 vertex, 0 edges")
		inside(t, "export", "--format", name, "-o", out, dir).want(t, cli.ExitDone, "hosts."+name)
	}
	rows := filepath.Join(t.TempDir(), "rows")
	inside(t, "export", "--format", "jsonl", "--graph", "pages", "-o", rows, dir, dir).want(t, cli.ExitDone, "vertices.jsonl")
	if got := rowsOf(t, filepath.Join(rows, "edges.jsonl")); len(got) != len(pairs) || got[0]["weight"].(float64) < 2 {
		t.Errorf("%d edges, the first %v", len(got), got[0])
	}
}

func TestExportOfAGraphRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	dir, _ := crawledOnce(t, crawltest.Tree("bakery.test", 2))
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "hosts.gexf"), []byte("of somebody else"), 0o644); err != nil {
		t.Fatal(err)
	}
	for said, args := range map[string][]string{
		"pages, hosts, domains":   {"--graph", "sites", dir},
		"leave --tables":          {"--graph", "hosts", "--tables", "pages", dir},
		"graphml, gexf, webgraph": {"--graph", "hosts", "--format", "dot", "-o", out, dir},
		"hosts.gexf exists and is not a graph of curtsy's making": {"--format", "gexf", "-o", out, dir},
		"is within the crawl directory":                           {"--format", "gexf", "-o", filepath.Join(dir, crawldir.ArchiveName), dir},
		"holds no crawl":                                          {"--format", "gexf", out},
	} {
		inside(t, slices.Concat([]string{"export"}, args)...).want(t, cli.ExitUsage, said)
	}
	if b, err := os.ReadFile(filepath.Join(out, "hosts.gexf")); string(b) != "of somebody else" || err != nil {
		t.Errorf("the file of somebody else is %q: %v", b, err)
	}
}
