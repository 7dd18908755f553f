package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// codesOf audits, and returns the codes of what was found: of notes, and of violations.
func codesOf(t *testing.T, u *lab, args ...string) (notes, violations []finding.Code, r audit.Result) {
	t.Helper()
	got := u.run(append([]string{"audit", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(got.out), &r); err != nil {
		t.Fatalf("%v: %s", err, got.err)
	}
	for _, f := range r.Findings {
		to := &violations
		if f.Note {
			to = &notes
		}
		if !slices.Contains(*to, f.Code) {
			*to = append(*to, f.Code)
		}
	}
	return notes, violations, r
}

// What was forgotten is a note with counts, in the directory and in what is packed of it. It excuses nothing else: a
// body or a line that goes without a mark, and another change of the same record, are found.
func TestForgettingExcusesNothingElse(t *testing.T) {
	t.Parallel()
	u, _, seed := diary(t, 12)
	template := filepath.Join(t.TempDir(), "template")
	u.run("crawl", "--delay", "0", "--quiet", "--dir", template, seed).want(t, cli.ExitDone)
	u.run("redact", "--reason", "by mail", template, seed+"p3.html").want(t, cli.ExitDone)
	u.run("redact", "--all", template, seed+"p4.html").want(t, cli.ExitDone)
	notes, violations, r := codesOf(t, u, template)
	if len(violations) > 0 || !slices.Contains(notes, finding.TakenDown) || r.Ledger.Redacted != 1 || r.Ledger.Forgotten != 1 {
		t.Errorf("notes %v, violations %v, %+v", notes, violations, r.Ledger)
	}
	for what, change := range map[string]func(dir string) error{
		"another body goes": func(dir string) error {
			return rewriteSegment(dir, func(rec *warc.Record) (warc.Edit, error) {
				if rec.Type == "response" && strings.HasSuffix(rec.TargetURI(), "/p5.html") {
					return warc.Edit{Fate: warc.Reduce}, nil
				}
				return warc.Edit{}, nil
			})
		},
		"the head that was left is changed": func(dir string) error {
			return rewriteSegment(dir, func(rec *warc.Record) (warc.Edit, error) {
				if rec.Type == "response" && strings.HasSuffix(rec.TargetURI(), "/p3.html") {
					b, err := io.ReadAll(rec.Block)
					return warc.Edit{Fate: warc.Replace, Block: bytes.Replace(b, []byte("200 OK"), []byte("404 No"), 1)}, err
				}
				return warc.Edit{}, nil
			})
		},
		"another line goes": func(dir string) error {
			book := inDir(dir, crawldir.LedgerName)
			for p, err := range ledger.Places(book) {
				if err != nil || strings.HasSuffix(p.Line.URL, "/p5.html") {
					return ledger.Forget(book, []int64{p.Index})
				}
			}
			return nil
		},
		"a record and its line go": func(dir string) error {
			book := inDir(dir, crawldir.LedgerName)
			var gone storage.Line
			for p, err := range ledger.Places(book) {
				if err != nil || strings.HasSuffix(p.Line.URL, "/p5.html") {
					if err := ledger.Forget(book, []int64{p.Index}); err != nil {
						return err
					}
					gone = p.Line
					break
				}
			}
			return rewriteSegment(dir, func(rec *warc.Record) (warc.Edit, error) {
				if rec.TargetURI() == gone.URL {
					return warc.Edit{Fate: warc.Drop}, nil
				}
				return warc.Edit{}, nil
			})
		},
	} {
		dir := filepath.Join(t.TempDir(), "d")
		if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
			t.Fatal(err)
		}
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		if _, violations, _ := codesOf(t, u, dir); len(violations) == 0 {
			t.Errorf("%s, and the audit finds nothing", what)
		}
	}
}

// rewriteSegment writes the one segment of a crawl anew, as somebody does who leaves no mark.
func rewriteSegment(dir string, edit func(*warc.Record) (warc.Edit, error)) error {
	path := filepath.Join(dir, crawldir.ArchiveName, "curtsy-00000.warc.gz")
	var b bytes.Buffer
	err := warc.Rewrite(context.Background(), &b, path, edit)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}

// The access log of the site has the requests that were taken down. They are no violation, and are named.
func TestForgettingIsSeenInAnAccessLog(t *testing.T) {
	t.Parallel()
	u, web, seed := diary(t, 6)
	dir := filepath.Join(t.TempDir(), "d")
	u.run("crawl", "--delay", "0", "--quiet", "--dir", dir, seed).want(t, cli.ExitDone)
	log := filepath.Join(t.TempDir(), "access.log")
	var b strings.Builder
	for _, r := range web.Referee().Requests() {
		fmt.Fprintf(&b, "127.0.0.1 - - [%s] \"GET %s HTTP/1.1\" %d 100 \"-\" %q\n", r.Start.UTC().Format("02/Jan/2006:15:04:05 -0700"), r.Target, r.Status, r.UserAgent)
	}
	if err := os.WriteFile(log, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	named := site(seed) + "=" + log
	if _, violations, _ := codesOf(t, u, "--access-log", named, dir); len(violations) > 0 {
		t.Fatalf("before: %v", violations)
	}
	u.run("redact", "--all", dir, seed+"p2.html").want(t, cli.ExitDone)
	notes, violations, _ := codesOf(t, u, "--access-log", named, dir)
	if len(violations) > 0 || !slices.Contains(notes, finding.TakenDown) {
		t.Errorf("notes %v, violations %v", notes, violations)
	}
}
