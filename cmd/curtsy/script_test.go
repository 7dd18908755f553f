package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.etcd.io/bbolt"
	"golang.org/x/mod/sumdb/tlog"

	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/frontier/engine"
	"curtsy/storage/ledger/checkpoint"
)

// TestScripts runs testdata/script: the commands as a user gives them, each script with its own folders and web. Beside
// testscript's own commands there are
//
//	curtsy ARG...             exits with 0
//	exits CODE ARG...         curtsy exits with CODE
//	refuse PATTERN ARG...     curtsy exits with 2, prints nothing to standard output, and the error matches PATTERN
//	web NAME KIND N           serves a site of crawltest on loopback; sets $seed (its URL) and $host (without the slash)
//	web NAME dir DIR          the same, of the files of a folder
//	web FILE...               the same, of crawltest.Sites in JSON; sets $seed2 and $host2 for the second site …; the site
//	                          broken ends each connection without a response
//	change FILE               gives a site of the web other pages and another robots.txt
//	requests                  prints "method target status user-agent" of the requests since the last call
//	judge [partial] [PACE [REPEATS]]
//	                          fails unless the crawl was polite and complete, by the referee; REPEATS pages may be fetched again
//	apart TIME                fails if the requests of the web came more often than that since it is served: a busy server may
//	                          notice some of them later than others
//	witness FILE NAME         starts a witness of the ledger whose operator has the key in FILE; sets $witness and $witnesskey
//	get URL [HOST [TOKEN]]    prints status and body of a response, as soon as a server is there
//	printed FILE              waits until FILE has the loopback URL that a server prints; sets $printed (without the slash)
//	running DIR N             waits until the crawl in DIR can be asked, and N requests were made
//	json [-f FILE] PATH=VALUE compares values of the last standard output, or of a file; PATH is a.b.0.c, or a.len for the length
//	replace FILE OLD NEW      replaces text in a file once
//	append FILE TEXT          adds text to a file
//	copydir FROM TO           copies a folder
//	members FILE [NAME]       prints the names in a ZIP file, or what one of them holds
//	crlf FILE                 ends the lines of a file as HTTP and WARC do
//	truncate FILE N           shortens a file by N bytes, or to nothing with "all"
//	mode FILE PERM            compares the permissions, where there are any
//	spoil DIR                 overwrites a page of the frontier that is in use
//	newer DIR                 makes the frontier one that a later version wrote
//
// In the environment, $free is an address without a listener at the start, $dead its URL, and $root the repository.
func TestScripts(t *testing.T) {
	t.Parallel()
	scripts(t, "script")
}

// scripts runs the scripts of a folder of testdata, with more environment: names, each followed by its value.
func scripts(t *testing.T, folder string, environment ...string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("testdata", folder),
		RequireUniqueNames: true,
		ContinueOnError:    true,
		UpdateScripts:      os.Getenv("CURTSY_UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			silent, release, err := silentPort()
			if err != nil {
				return err
			}
			e.Defer(release)
			for i := 0; i < len(environment); i += 2 {
				e.Setenv(environment[i], environment[i+1])
			}
			e.Setenv("silent", silent)
			e.Setenv("dead", "http://"+silent+"/")
			exe, err := os.Executable()
			bin := filepath.Join(e.WorkDir, ".bin")
			if err := errors.Join(err, os.Mkdir(bin, 0o700), os.Symlink(exe, filepath.Join(bin, "curtsy"))); err != nil {
				return err
			}
			for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData", "XDG_CACHE_HOME", "LocalAppData"} {
				e.Setenv(name, filepath.Join(e.WorkDir, ".home"))
			}
			root, err := filepath.Abs(filepath.Join("..", ".."))
			if err != nil {
				return err
			}
			e.Setenv("root", root)
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("GORACE", os.Getenv("GORACE"))
			e.Setenv("GOGC", os.Getenv("GOGC"))
			e.Setenv(asCurtsy, "1")
			e.Values[theWeb{}] = &scriptWeb{ctx: t.Context()}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"curtsy": func(ts *testscript.TestScript, neg bool, args []string) {
				if code := scriptExit(ts, args); (code == 0) == neg {
					ts.Fatalf("exit code %d", code)
				}
			},
			"exits": func(ts *testscript.TestScript, _ bool, args []string) {
				if code := scriptExit(ts, args[1:]); strconv.Itoa(code) != args[0] {
					ts.Fatalf("exit code %d, want %s", code, args[0])
				}
			},
			"refuse": func(ts *testscript.TestScript, _ bool, args []string) {
				if code := scriptExit(ts, args[1:]); code != 2 || ts.ReadFile("stdout") != "" {
					ts.Fatalf("exit code %d, want 2 and no output", code)
				}
				if says := ts.ReadFile("stderr"); !regexp.MustCompile("(?m)" + args[0]).MatchString(says) {
					ts.Fatalf("no match for %s", args[0])
				}
			},
			"web":     scriptServe,
			"judge":   scriptJudge,
			"json":    scriptJSON,
			"apart":   scriptApart,
			"get":     scriptGet,
			"witness": scriptWitness,
			"change": func(ts *testscript.TestScript, _ bool, args []string) {
				changeSite(ts.Value(theWeb{}).(*scriptWeb).Web, scriptSite(ts, args[0]))
			},
			"requests": func(ts *testscript.TestScript, _ bool, _ []string) {
				web := ts.Value(theWeb{}).(*scriptWeb)
				all, out := web.Referee().Requests(), ts.Stdout() // a call clears the last output
				for _, r := range all[web.printed:] {
					fmt.Fprintf(out, "%s %s %d %s\n", r.Method, r.Target, r.Status, r.UserAgent)
				}
				web.printed = len(all)
			},
			"printed": func(ts *testscript.TestScript, _ bool, args []string) {
				address := regexp.MustCompile(`(?m)^(http://127\.0\.0\.1:\d+)/.*\n`)
				var found []string
				if !within(patience, looking, nil, func() bool {
					b, _ := os.ReadFile(ts.MkAbs(args[0])) // it may not be there yet
					found = address.FindStringSubmatch(string(b))
					return found != nil
				}) {
					ts.Fatalf("no address in %s", args[0])
				}
				ts.Setenv("printed", found[1])
			},
			"running": func(ts *testscript.TestScript, _ bool, args []string) {
				n, err := strconv.Atoi(args[1])
				ts.Check(err)
				web := ts.Value(theWeb{}).(*scriptWeb)
				if !within(patience, looking, nil, func() bool {
					_, err := control.Ask(web.ctx, ts.MkAbs(args[0]))
					return err == nil && len(web.Referee().Requests()) >= n
				}) {
					ts.Fatalf("no running crawl with %d requests", n)
				}
			},
			"replace": func(ts *testscript.TestScript, _ bool, args []string) {
				before := ts.ReadFile(args[0])
				if !strings.Contains(before, args[1]) {
					ts.Fatalf("%s has no %q", args[0], args[1])
				}
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(before, args[1], args[2], 1)), 0o600))
			},
			"append": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.ReadFile(args[0])+args[1]+"\n"), 0o600))
			},
			"copydir": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(ts.MkAbs(args[0]))))
			},
			"members": func(ts *testscript.TestScript, _ bool, args []string) {
				z, err := zip.OpenReader(ts.MkAbs(args[0]))
				ts.Check(err)
				defer z.Close()
				for _, f := range z.File {
					if len(args) == 1 {
						fmt.Fprintln(ts.Stdout(), f.Name)
					} else if f.Name == args[1] {
						r, err := f.Open()
						ts.Check(err)
						_, err = io.Copy(ts.Stdout(), r)
						ts.Check(err)
					}
				}
			},
			"crlf": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(ts.ReadFile(args[0]), "\n", "\r\n")), 0o600))
			},
			"truncate": func(ts *testscript.TestScript, _ bool, args []string) {
				size := len(ts.ReadFile(args[0]))
				n := size
				if args[1] != "all" {
					var err error
					n, err = strconv.Atoi(args[1])
					ts.Check(err)
				}
				ts.Check(os.Truncate(ts.MkAbs(args[0]), int64(size-n)))
			},
			"mode": func(ts *testscript.TestScript, _ bool, args []string) {
				fi, err := os.Stat(ts.MkAbs(args[0]))
				ts.Check(err)
				if got := strconv.FormatUint(uint64(fi.Mode().Perm()), 8); got != args[1] && runtime.GOOS != "windows" {
					ts.Fatalf("%s has mode %s", args[0], got)
				}
			},
			"spoil": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(spoilFrontier(filepath.Join(ts.MkAbs(args[0]), crawldir.FrontierName)))
			},
			"newer": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(raiseFrontier(filepath.Join(ts.MkAbs(args[0]), crawldir.FrontierName)))
			},
		},
	})
}

func scriptExit(ts *testscript.TestScript, args []string) int {
	err := ts.Exec("curtsy", args...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

type theWeb struct{}

type scriptWeb struct {
	*crawltest.Web
	ctx     context.Context
	began   time.Time
	printed int // requests
}

// scriptSites are the kinds of sites.
var scriptSites = map[string]func(name string, n int) *crawltest.Site{
	"tree":     crawltest.Tree,
	"calendar": func(name string, n int) *crawltest.Site { return crawltest.Calendar(name, false, n) },
}

func scriptServe(ts *testscript.TestScript, _ bool, args []string) {
	var sites []*crawltest.Site
	if len(args) == 3 && scriptSites[args[1]] != nil {
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		sites = append(sites, scriptSites[args[1]](args[0], n))
	} else if len(args) == 3 && args[1] == "dir" {
		sites = append(sites, &crawltest.Site{Name: args[0], Handler: http.FileServer(http.Dir(ts.MkAbs(args[2])))})
	} else {
		for _, name := range args {
			sites = append(sites, scriptSite(ts, name))
		}
	}
	web := ts.Value(theWeb{}).(*scriptWeb)
	*web = scriptWeb{Web: crawltest.New(sites...), ctx: web.ctx, began: time.Now()}
	ts.Check(web.Start())
	served := web.Web
	ts.Defer(func() { served.Close() })
	for i, s := range sites {
		n := ""
		if i > 0 {
			n = strconv.Itoa(i + 1)
		}
		seed := web.LoopbackURL(s.Name)
		ts.Setenv("seed"+n, seed)
		ts.Setenv("host"+n, strings.TrimSuffix(seed, "/"))
		ts.Setenv("port"+n, strings.Trim(seed[strings.LastIndexByte(seed, ':'):], ":/"))
	}
}

func scriptSite(ts *testscript.TestScript, file string) *crawltest.Site {
	if file == "broken" {
		abort := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		return &crawltest.Site{Name: "broken.test", Robots: crawltest.Robots{Status: http.StatusNotFound}, Handler: abort}
	}
	s, err := siteOf(ts.ReadFile(file))
	if err != nil {
		ts.Fatalf("%s: %v", file, err)
	}
	return s
}

func siteOf(text string) (*crawltest.Site, error) {
	var s crawltest.Site
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	return &s, d.Decode(&s)
}

func changeSite(web *crawltest.Web, to *crawltest.Site) {
	web.Change(to.Name, func(s *crawltest.Site) { s.Pages, s.Robots = to.Pages, to.Robots })
}

func scriptJudge(ts *testscript.TestScript, _ bool, args []string) {
	var rules crawltest.Rules
	if len(args) > 0 && args[0] == "partial" {
		rules.Partial, args = true, args[1:]
	}
	if len(args) > 0 {
		pace, err := time.ParseDuration(args[0])
		ts.Check(err)
		rules.Pace = pace
	}
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		rules.Repeats = n
	}
	if report := ts.Value(theWeb{}).(*scriptWeb).Referee().Judge(rules); !report.OK() {
		var b bytes.Buffer
		ts.Check(report.WriteTable(&b))
		ts.Fatalf("the referee:\n%s", b.String())
	}
}

func scriptGet(ts *testscript.TestScript, _ bool, args []string) {
	req, err := http.NewRequestWithContext(ts.Value(theWeb{}).(*scriptWeb).ctx, http.MethodGet, args[0], nil)
	ts.Check(err)
	req.Close = true
	if len(args) > 1 {
		req.Host = args[1]
	}
	if len(args) > 2 {
		req.Header.Set("Authorization", "Bearer "+args[2])
	}
	if !within(patience, looking, nil, func() bool {
		var resp *http.Response
		if resp, err = http.DefaultClient.Do(req); err != nil {
			return false
		}
		defer resp.Body.Close()
		fmt.Fprintln(ts.Stdout(), resp.Status)
		_, err = io.Copy(ts.Stdout(), resp.Body)
		ts.Check(err)
		return true
	}) {
		ts.Fatalf("%v", err)
	}
}

func scriptApart(ts *testscript.TestScript, _ bool, args []string) {
	least, err := time.ParseDuration(args[0])
	ts.Check(err)
	web := ts.Value(theWeb{}).(*scriptWeb)
	for i, r := range web.Referee().Requests() {
		if after := r.Start.Sub(web.began); after < time.Duration(i)*least {
			ts.Fatalf("%s%s is request %d and came after %v", r.Host, r.Target, i+1, after)
		}
	}
}

func scriptJSON(ts *testscript.TestScript, neg bool, args []string) {
	file := "stdout"
	if args[0] == "-f" {
		file, args = args[1], args[2:]
	}
	var all any
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	d.UseNumber()
	if err := d.Decode(&all); err != nil {
		ts.Fatalf("%s: %v", file, err)
	}
	for _, arg := range args {
		path, want, _ := strings.Cut(arg, "=")
		v := all
		for _, step := range strings.Split(path, ".") {
			switch at := v.(type) {
			case map[string]any:
				if step == "len" {
					v = len(at)
				} else {
					v = at[step]
				}
			case []any:
				if n, err := strconv.Atoi(step); err == nil && n < len(at) {
					v = at[n]
				} else if step == "len" {
					v = len(at)
				} else {
					v = nil
				}
			default:
				v = nil
			}
		}
		got := fmt.Sprint(v)
		if (got == want) == neg {
			ts.Fatalf("%s is %s, want %s", path, got, want)
		}
	}
}

func spoilFrontier(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page := os.Getpagesize()
	for at := 2 * page; at < len(b); at += page { // some pages are not in use
		spoilt := slices.Concat(b[:at], bytes.Repeat([]byte{0xa5}, page), b[at+page:])
		if err := os.WriteFile(path, spoilt, 0o600); err != nil {
			return err
		}
		if found, err := engine.Check(path); err != nil || len(found) > 0 {
			return nil
		}
	}
	return errors.New("no page is in use")
}

func raiseFrontier(path string) error {
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	return errors.Join(db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte("meta"))
		v := slices.Clone(b.Get([]byte("format")))
		v[len(v)-1] += 100
		return b.Put([]byte("format"), v)
	}), db.Close())
}

// fakeWitness implements https://c2sp.org/tlog-witness for the log of one operator.
type fakeWitness struct {
	signer  *checkpoint.Signer
	follows checkpoint.Key

	mu   sync.Mutex
	kept *checkpoint.Note
}

func scriptWitness(ts *testscript.TestScript, _ bool, args []string) {
	signer, err := checkpoint.WitnessSigner(args[1], bytes.Repeat([]byte{byte(len(args[1]))}, 32))
	ts.Check(err)
	follows, err := checkpoint.ParseKey(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	server := httptest.NewServer(&fakeWitness{signer: signer, follows: follows})
	ts.Defer(server.Close)
	ts.Setenv("witness", server.URL)
	ts.Setenv("witnesskey", signer.Key().Cosigner())
}

func (w *fakeWitness) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if in.Method == http.MethodGet {
		if w.kept == nil {
			http.NotFound(out, in)
			return
		}
		_, _ = out.Write(w.kept.Marshal()) // the client may have gone
		return
	}
	b, _ := io.ReadAll(in.Body)
	head, text, _ := strings.Cut(string(b), "\n\n")
	n, err := checkpoint.Parse([]byte(text))
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	old, hashes, _ := strings.Cut(head, "\n")
	var proof tlog.TreeProof
	for _, line := range strings.Fields(hashes) {
		h, _ := tlog.ParseHash(line) // a wrong one fails the proof
		proof = append(proof, h)
	}
	var size int64
	var root tlog.Hash
	if w.kept != nil {
		size, root = w.kept.Size, w.kept.Root
	}
	switch {
	case !n.SignedBy(w.follows):
		out.WriteHeader(http.StatusForbidden)
	case old != fmt.Sprintf("old %d", size):
		out.Header().Set("Content-Type", "text/x.tlog.size")
		out.WriteHeader(http.StatusConflict)
		fmt.Fprintln(out, size)
	case size > 0 && tlog.CheckTree(proof, n.Size, n.Root, size, root) != nil:
		out.WriteHeader(http.StatusUnprocessableEntity)
	default:
		sig, err := w.signer.Cosign(n)
		if err != nil {
			http.Error(out, err.Error(), http.StatusInternalServerError)
			return
		}
		n.Add(sig)
		w.kept = n
		_, _ = out.Write(sig.Line())
	}
}
