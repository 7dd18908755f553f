package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
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

// The graph of pages has the links of the archive, each once.
func TestExportMakesTheGraphOfTheArchive(t *testing.T) {
	t.Parallel()
	dir, _ := crawledOnce(t, crawltest.Tree("bakery.test", 12))
	pairs, pages := archivedLinks(t, dir)
	out := filepath.Join(t.TempDir(), "out")
	inside(t, "export", "--format", "graphml", "-o", out, dir).want(t, cli.ExitDone, "graph of hosts: 1 vertex, 0 edges")
	inside(t, "export", "--format", "graphml", "-o", out, dir).want(t, cli.ExitDone, "hosts.graphml") // what is ours is replaced
	rows := filepath.Join(t.TempDir(), "rows")
	r := inside(t, "export", "--format", "jsonl", "--graph", "pages", "--json", "-o", rows, dir, dir)
	r.want(t, cli.ExitDone, "vertices.jsonl")
	var made struct{ Vertices, Edges int }
	if err := json.Unmarshal([]byte(r.out), &made); err != nil || made.Vertices != len(pages) || made.Edges != len(pairs) || len(pairs) < 10 {
		t.Fatalf("%v: %s; %d pages and %d pairs in the archive", err, r.out, len(pages), len(pairs))
	}
	names := map[any]string{}
	for _, v := range rowsOf(t, filepath.Join(rows, "vertices.jsonl")) {
		names[v["id"]] = v["name"].(string)
	}
	edges := rowsOf(t, filepath.Join(rows, "edges.jsonl"))
	if len(edges) != len(pairs) || edges[0]["weight"].(float64) < 2 {
		t.Errorf("%d edges, the first %v", len(edges), edges[0])
	}
	for _, e := range edges {
		if pair := names[e["from_id"]] + "\t" + names[e["to_id"]]; !pairs[pair] {
			t.Errorf("an edge that is no link: %q", pair)
		}
	}
}

func TestExportOfAGraphRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	dir, _ := crawledOnce(t, crawltest.Tree("bakery.test", 2))
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "hosts.graphml"), []byte("of somebody else"), 0o644); err != nil {
		t.Fatal(err)
	}
	for said, args := range map[string][]string{
		"pages, hosts, domains": {"--graph", "sites", dir},
		"omit --tables":         {"--graph", "hosts", "--tables", "pages", dir},
		"sqlite, wet, graphml":  {"--graph", "hosts", "--format", "dot", "-o", out, dir},
		"hosts.graphml exists and is not a graph of curtsy's making": {"--format", "graphml", "-o", out, dir},
		"is within the crawl directory":                              {"--format", "graphml", "-o", filepath.Join(dir, crawldir.ArchiveName), dir},
		"holds no crawl":                                             {"--format", "graphml", out},
	} {
		inside(t, slices.Concat([]string{"export"}, args)...).want(t, cli.ExitUsage, said)
	}
	if b, err := os.ReadFile(filepath.Join(out, "hosts.graphml")); string(b) != "of somebody else" || err != nil {
		t.Errorf("the file of somebody else is %q: %v", b, err)
	}
}
