package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/html"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/frontier/model"
)

// job is what a process of this program does, given as JSON to the hidden command child.
type job struct {
	Do      string    // web, crawl, bare or parts
	Web     webConfig // of web
	Args    []string  // of crawl
	Seeds   []string
	Workers int    // of bare
	Most    int    // pages of bare; 0 = all
	Tuned   bool   // bare has the collector's setting of a crawl
	Model   bool   // the frontier is in memory
	Profile string // file for the profile of a crawl; empty for none
	Out     string // file for the result
}

func (j *job) words() []string {
	text, err := json.Marshal(j)
	if err != nil {
		panic(err) // a job has nothing that JSON lacks
	}
	return []string{"child", string(text)}
}

func newChild(std cli.Streams) *cobra.Command {
	return &cobra.Command{Use: "child JOB", Hidden: true, Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		var j job
		if err := json.Unmarshal([]byte(args[0]), &j); err != nil {
			return cli.Usagef("%w", err)
		}
		if j.Do == "web" {
			return serveWeb(j.Web, std)
		}
		for _, seed := range j.Seeds { // the bare loop observes no delay
			if u, err := canon.Parse(seed); err != nil || !u.Authority().Loopback() {
				return cli.Usagef("%q: bench crawls loopback only", seed)
			}
		}
		out, err := j.run(cmd.Context(), std)
		if err != nil {
			return err
		}
		text, err := json.Marshal(out)
		if err != nil {
			return err
		}
		return os.WriteFile(j.Out, text, 0o600)
	}}
}

// run returns what the job measured.
func (j *job) run(ctx context.Context, std cli.Streams) (any, error) {
	tuned := func() func() { return cli.Tune(crawldir.Defaults().MemoryLimit) }
	switch j.Do {
	case "crawl":
		err := j.crawl(ctx, std)
		return ownStats(), err
	case "bare":
		if j.Tuned {
			defer tuned()()
		}
		_, err := runBare(ctx, j.Seeds, j.Workers, j.Most)
		return ownStats(), err
	case "parts":
		defer tuned()()
		return measureParts(ctx, j.Seeds, partsPages)
	}
	return nil, cli.Usagef("no job %q", j.Do)
}

func (j *job) crawl(ctx context.Context, std cli.Streams) error {
	w := crawlcmd.World{}
	if j.Model {
		w.Open = func(path string, o frontier.Options) (frontier.Frontier, error) { return inMemory(ctx, path, o) }
	}
	crawl := crawlcmd.NewIn(w, std)
	crawl.SetArgs(j.Args)
	crawl.SilenceErrors, crawl.SilenceUsage = true, true
	if j.Profile == "" {
		return crawl.ExecuteContext(ctx)
	}
	var cpu, allocs bytes.Buffer
	runtime.MemProfileRate = 16 << 10
	if err := pprof.StartCPUProfile(&cpu); err != nil {
		return err
	}
	err := crawl.ExecuteContext(ctx)
	pprof.StopCPUProfile()
	runtime.GC() // the profile has what was allocated until the last collection
	return errors.Join(err, pprof.Lookup("allocs").WriteTo(&allocs, 0), os.WriteFile(j.Profile, cpu.Bytes(), 0o666),
		os.WriteFile(strings.TrimSuffix(j.Profile, ".pprof")+".allocs.pprof", allocs.Bytes(), 0o666))
}

// inMemory opens a frontier that stores nothing, with the seeds of the file.
func inMemory(ctx context.Context, path string, o frontier.Options) (frontier.Frontier, error) {
	f, err := engine.Open(path, frontier.Options{})
	if err != nil {
		return nil, err
	}
	seeds, err := frontier.SeedsOf(ctx, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	var cs []frontier.Candidate
	for _, s := range seeds {
		cs = append(cs, frontier.Candidate{URL: s.URL, Kind: frontier.KindSeed, Tag: s.Tag})
	}
	m := model.New(frontier.Options{}) // not o: its commits wait until the directory is open, and Add waits for them
	if _, err = m.Add(ctx, cs); err == nil {
		err = m.Close()
	}
	return m.Reopen(o), err
}

// childStats is what only the process itself can measure.
type childStats struct {
	Mallocs uint64
	PeakRSS int64 // 0 = unknown
}

func ownStats() childStats {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return childStats{m.Mallocs, peakRSS()}
}

// peakRSS is the maximum resident memory of this process from /proc (Linux); 0 elsewhere.
func peakRSS() (kib int64) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	if _, after, ok := strings.Cut(string(text), "VmHWM:"); ok {
		_, _ = fmt.Sscan(after, &kib) // 0 otherwise
	}
	return kib << 10
}

// parts is the processor time per page of what every crawler must do: read pages over a connection, parse them with
// x/net/html, resolve their links with net/url. The bare loop is compared with it.
type parts struct {
	Pages int     `json:"pages"`
	Fetch float64 `json:"fetch_cpu_ms_per_page"`
	Parse float64 `json:"parse_cpu_ms_per_page"`
}

// partsPages are enough: 10 MiB of pages.
const partsPages = 500

// measureParts follows links within the host of each seed until it has read most pages.
func measureParts(ctx context.Context, seeds []string, most int) (p parts, err error) {
	var fetch, parse time.Duration
	for _, seed := range seeds {
		root, err := url.Parse(seed)
		if err != nil {
			return p, err
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", root.Host)
		if err != nil {
			return p, err
		}
		in, page := bufio.NewReaderSize(conn, 32<<10), new(bytes.Buffer)
		seen := map[string]bool{seed: true}
		for queue := []string{seed}; len(queue) > 0 && p.Pages < most && err == nil; queue = queue[1:] {
			var links []string
			begun := ownCPU()
			u, failed := root.Parse(queue[0])
			if err = failed; err == nil {
				err = readPage(conn, in, u, page)
			}
			read := ownCPU()
			if err == nil {
				links, err = pageLinks(u, page)
			}
			p.Pages, fetch, parse = p.Pages+1, fetch+read-begun, parse+ownCPU()-read
			for _, to := range links {
				if strings.HasPrefix(to, seed) && !seen[to] { // a seed is the root of its host
					seen[to] = true
					queue = append(queue, to)
				}
			}
		}
		if err := errors.Join(err, conn.Close(), ctx.Err()); err != nil {
			return p, err
		}
	}
	p.Fetch, p.Parse = 1e3*fetch.Seconds()/float64(p.Pages), 1e3*parse.Seconds()/float64(p.Pages)
	return p, nil
}

func readPage(conn net.Conn, in *bufio.Reader, u *url.URL, page *bytes.Buffer) error {
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", u.RequestURI(), u.Host); err != nil {
		return err
	}
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	page.Reset()
	_, err = page.ReadFrom(resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// pageLinks parses a page and resolves its links, without goquery.
func pageLinks(base *url.URL, page *bytes.Buffer) (links []string, err error) {
	doc, err := html.Parse(page)
	if err != nil {
		return nil, err
	}
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			if n.Data != "a" || a.Key != "href" {
				continue
			}
			if to, err := base.Parse(a.Val); err == nil {
				to.Fragment = ""
				links = append(links, to.String())
			}
		}
	}
	return links, nil
}
