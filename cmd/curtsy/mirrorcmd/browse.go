package mirrorcmd

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/chromium"
	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/scope"
	"curtsy/frontier/canon"
	"curtsy/storage/mirror"
	"curtsy/storage/plainly"
)

const (
	sampleSize = 50     // pages that are opened unless told
	maxTold    = 10_000 // findings that are listed; the rest is counted
)

// browsing is a check with a browser.
type browsing struct {
	browser  bool
	sample   string
	chromium string

	set *pflag.FlagSet
}

// asked reports whether a browser is wanted: who says which, or how many pages, wants one.
func (b *browsing) asked() bool {
	return b.browser || b.set.Changed("chromium") || b.set.Changed("sample")
}

func (b *browsing) flags(fs *pflag.FlagSet) {
	b.set = fs
	fs.BoolVar(&b.browser, "browser", false, "open pages in headless Chromium, without a network")
	fs.StringVar(&b.sample, "sample", strconv.Itoa(sampleSize), "open `N` pages, the same each time, or all")
	fs.StringVar(&b.chromium, "chromium", "", "the `PROGRAM` to open them with; looked for unless told")
}

// seen is what a browser found, as the mirror explains it.
type seen struct {
	chromium.Finding
	Reason string `json:"reason,omitempty"`
	Wrong  bool   `json:"wrong,omitempty"`
}

// Reasons beside those of mirror.Reason.
const (
	refused   = "refused from disk" // the file is there
	elsewhere = "elsewhere"         // of a host that the mirror has nothing of
)

func (b *browsing) check(ctx context.Context, dir string, asJSON, wrongOnly bool, std cli.Streams) error {
	n, err := strconv.Atoi(b.sample)
	if b.sample == "all" {
		n = 0
	} else if err != nil || n < 1 {
		return cli.Usagef("mirror: --sample %s is neither a number of pages, from 1, nor all", plainly.OneLine(b.sample))
	}
	tree, err := mirrorIn(dir)
	if err != nil {
		return err
	}
	if tree, err = filepath.Abs(tree); err != nil {
		return err
	}
	program, err := chromium.Program(b.chromium)
	if err != nil {
		return err
	}
	k, files, err := known(tree)
	if err != nil {
		return err
	}
	if s, err := crawldir.ReadSettings(dir); err == nil { // else dir is a mirror alone
		_, k.scripts = scope.SplitRequisites(s.Requisites)
	}
	all := len(files)
	if n > 0 && n < all {
		slices.SortFunc(files, func(a, b string) int { return cmp.Or(cmp.Compare(drawn(a), drawn(b)), cmp.Compare(a, b)) })
		files = files[:n]
		slices.Sort(files)
	}
	out := bufio.NewWriter(std.Out)
	told, wrong, lacked, said := int64(0), int64(0), false, time.Now()
	pages := func(yield func(chromium.Page) bool) {
		for i, name := range files {
			if now := time.Now(); now.Sub(said) > 10*time.Second {
				said = now
				fmt.Fprintf(std.Err, "%d of %d pages opened, %d findings\n", i, len(files), told)
			}
			at := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(tree, filepath.FromSlash(name)))}
			if !yield(chromium.Page{Name: name, URL: at.String()}) {
				return
			}
		}
	}
	totals, err := chromium.Open(ctx, program, pages, func(f chromium.Finding) error {
		s := k.explain(f)
		if s.Wrong {
			wrong++
		}
		lacked = lacked || s.Reason == string(mirror.NoFile) && s.Type != "Document"
		if wrongOnly && !s.Wrong {
			return nil
		}
		if told++; told > maxTold {
			return nil
		}
		return s.write(out, asJSON)
	})
	if err := errors.Join(err, out.Flush()); err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "%d of %s opened from disk, which asked for %s; %d wrong\n", totals.Pages, plainly.Count(int64(all), "page"), plainly.Count(totals.Requests, "file"), wrong)
	if totals.Elsewhere > 0 {
		fmt.Fprintf(std.Err, "%s would have gone to the web, and went nowhere\n", plainly.Count(totals.Elsewhere, "request"))
	}
	if more := max(told-maxTold, 0) + totals.Dropped; more > 0 {
		fmt.Fprintf(std.Err, "%s left out of the list, which has %d of a page and %d in all\n", plainly.Count(more, "finding"), chromium.MaxOnPage, maxTold)
	}
	if lacked && !k.scripts {
		fmt.Fprintln(std.Err, "a crawl with --requisites script asks for files that scripts alone name")
	}
	if wrong > 0 {
		return cli.Silent(cli.ExitFound)
	}
	return nil
}

// drawn orders pages by chance, the same each time.
func drawn(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	return h.Sum64()
}

// knowledge is what a mirror knows of URLs.
type knowledge struct {
	files   map[string]string // by key of a URL
	missing map[string]string // reasons
	hosts   map[canon.Authority]bool
	scripts bool // the crawl has requested what scripts name
}

// known reads the lists of a mirror, and returns its pages, too.
func known(tree string) (k *knowledge, pages []string, err error) {
	k = &knowledge{files: map[string]string{}, missing: map[string]string{}, hosts: map[canon.Authority]bool{}}
	for e, err := range mirror.Map(tree) {
		if err != nil {
			return nil, nil, err
		}
		if u, err := canon.Parse(e.URL); err == nil {
			k.hosts[u.Authority()] = true
		}
		if e.File == "" {
			continue
		}
		k.files[e.URL] = e.File
		if e.Redirect == "" && (strings.HasPrefix(e.Type, "text/html") || strings.HasPrefix(e.Type, "application/xhtml+xml")) {
			pages = append(pages, e.File)
		}
	}
	for m, err := range mirror.MissingLines(tree) {
		if err != nil {
			return nil, nil, err
		}
		k.missing[m.URL] = strings.TrimSuffix(string(m.Reason)+": "+m.Detail, ": ")
	}
	slices.Sort(pages)
	return k, slices.Compact(pages), nil
}

// explain says what stands behind a finding. It is wrong unless the mirror has said that it lacks the file, or the file is of
// a host that it has nothing of.
func (k *knowledge) explain(f chromium.Finding) seen {
	s := seen{Finding: f, Wrong: true}
	if f.Kind != chromium.Request {
		return s
	}
	if !f.Elsewhere {
		u, err := url.Parse(f.URL)
		if err != nil {
			return s
		}
		_, err = os.Stat(filepath.FromSlash(u.Path))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.Reason = string(mirror.NoFile)
		case f.Refused:
			s.Reason = refused
		}
		return s
	}
	u, err := canon.Parse(f.URL)
	if err != nil {
		s.Reason, s.Wrong = elsewhere, false
		return s
	}
	if _, has := k.files[u.Key()]; has {
		s.Reason = string(mirror.NotLinked)
		return s
	}
	if why, is := k.missing[u.Key()]; is {
		s.Reason, s.Wrong = why, false
		return s
	}
	s.Reason, s.Wrong = string(mirror.NotFetched), k.hosts[u.Authority()]
	if !s.Wrong {
		s.Reason = elsewhere
	}
	return s
}

// write writes a finding: the page, what it is about, and why, with tabs between.
func (s *seen) write(out *bufio.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(s)
	}
	why := s.Why
	if s.Reason != "" {
		why = s.Reason + " (" + why + ")"
	}
	if s.Kind != chromium.Request {
		why = string(s.Kind) + ": " + why
	}
	if s.Wrong {
		why = "WRONG " + why
	}
	_, err := fmt.Fprintf(out, "%s\t%s\t%s\n", plainly.OneLine(s.Page), plainly.OneLine(s.URL), plainly.OneLine(why))
	return err
}
