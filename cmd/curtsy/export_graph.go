package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/storage/graph"
	"curtsy/storage/tables"
	"curtsy/storage/tables/sink"
)

// madeGraph is what was made of the links, for programs.
type madeGraph struct {
	Level    string   `json:"level"`
	Vertices int      `json:"vertices"`
	Edges    int64    `json:"edges"`
	Links    int64    `json:"links"`
	Within   int64    `json:"links_within"`
	NoURL    int64    `json:"links_no_web_address"`
	LeftOut  int64    `json:"links_left_out"`
	Files    []string `json:"files"`
}

// isGraph reports whether a graph was asked for, and no tables of crawls.
func (o *exportOptions) isGraph() bool { return o.graph != "" || o.format == graph.Name }

// graphFolder is where the files of a graph go.
func (o *exportOptions) graphFolder(dirs []string) string {
	if o.out == "" && len(dirs) > 1 {
		return "graph"
	}
	return cmp.Or(o.out, strings.TrimSuffix(o.folder(dirs), "-tables")+"-graph")
}

func runGraph(ctx context.Context, dirs []string, o exportOptions, std cli.Streams) (err error) {
	level, err := graph.ParseLevel(cmp.Or(o.graph, graph.Hosts.String()))
	if err != nil {
		return cli.Usagef("--graph: no level %q; there are pages, hosts, domains", o.graph)
	}
	if len(o.tables) > 0 || o.headers || o.overwrite {
		return cli.Usagef("a graph has other tables: omit --tables, --headers and --overwrite")
	}
	var archives []string
	for _, dir := range dirs {
		if err := mustHoldCrawl(dir); err != nil {
			return err
		}
		archives = append(archives, filepath.Join(dir, crawldir.ArchiveName))
	}
	write, err := o.graphWriter(level, o.graphFolder(dirs))
	if err != nil {
		return err
	}
	var g *graph.Graph
	err = progress.While(ctx, std.Err, o.quiet, progress.NewWork("graph", "").Reads(1, archives...), func(ctx context.Context) (err error) {
		g, err = graph.ArchivedGraph(ctx, graph.Options{Level: level}, archives...)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	files, err := write(ctx, &graph.Document{Level: g.Level, Graph: g})
	if err != nil {
		return err
	}
	m := madeGraph{
		Level: level.String(), Vertices: g.Order(), Edges: g.Size(), Links: g.Counts.Links, Within: g.Counts.Within, NoURL: g.Counts.NoURL,
		LeftOut: g.Counts.LeftOut, Files: files,
	}
	fmt.Fprint(std.Err, text.Render("graph", m))
	if o.json {
		return cli.WriteJSON(std.Out, m)
	}
	return nil
}

// graphWriter makes the folder and returns what writes into it.
func (o *exportOptions) graphWriter(level graph.Level, out string) (write func(context.Context, *graph.Document) ([]string, error), err error) {
	if err := mayHold(out); err != nil {
		return nil, err
	}
	made := userfile.Kind{Name: "a graph", Mark: graph.Mark}
	names := []string{graph.File(level)}
	write = func(ctx context.Context, d *graph.Document) ([]string, error) {
		path, err := d.Write(ctx, out)
		return []string{path}, err
	}
	if o.format != graph.Name {
		names = nil
		f, err := sink.Parse(o.format)
		if err != nil {
			return nil, noFormat(o.format)
		}
		if f == sink.WET {
			return nil, cli.Usagef("--format wet has texts of pages: leave --graph away, or name another format")
		}
		set, err := sink.NewSet(f, out, sink.Options{Version: crawldir.Version, ExactCSV: o.exact})
		if err != nil {
			return nil, err
		}
		made.Mark = "" // files of these formats are not known as ours: none is replaced
		for _, t := range []*tables.Table{&tables.Vertices, &tables.Edges} {
			if name := filepath.Base(set.Path(t)); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		write = func(_ context.Context, d *graph.Document) ([]string, error) { return graphTables(set, d) }
	}
	for _, name := range names {
		if err := cli.MayWrite("--output", filepath.Join(out, name), made); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return nil, fmt.Errorf("make the folder of the graph: %w", err)
	}
	return write, nil
}

// graphTables writes the tables of a graph.
func graphTables(set *sink.Set, d *graph.Document) (files []string, err error) {
	defer set.Abort()
	for _, each := range []struct {
		table *tables.Table
		rows  func(func(tables.Row) error) error
	}{{&tables.Vertices, d.VertexRows}, {&tables.Edges, d.EdgeRows}} {
		s, err := set.Create(each.table)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(each.rows(s.Write), s.Close()); err != nil {
			s.Abort()
			return nil, err
		}
		if path := set.Path(each.table); !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	return files, set.Close()
}
