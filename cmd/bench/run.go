package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/cmd/curtsy/procgroup"
	"curtsy/crawler/crawldir"
	"curtsy/frontier/canon"
	"curtsy/storage/mirror"
)

const (
	patience  = time.Hour       // for a run of curtsy or of the bare loop
	peerGrace = 2 * time.Second // for a peer to end after it was stopped
	saidSize  = 4 << 10         // of the output of a process that an error quotes
)

func (b *bench) run(ctx context.Context, out io.Writer) (err error) {
	measure := b.crawls
	if slices.Contains(b.vs, "checkers") {
		for _, flag := range strings.Fields("setup pages hosts workers pace discovered profile") {
			if b.given(flag) || len(b.vs) > 1 {
				return cli.Usagef("--vs checkers has its own sites: omit --%s and other values of --vs", flag)
			}
		}
		b.name, measure = "checkers", b.checkers
	} else if err := b.plan(); err != nil {
		return err
	}
	if b.profile != "" {
		if err := os.MkdirAll(b.profile, 0o777); err != nil {
			return err
		}
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.tmp, err = os.MkdirTemp(b.dir, "curtsy-bench-"); err != nil {
		return err
	}
	defer func() {
		for _, w := range b.webs {
			err = errors.Join(err, w.close())
		}
		err = errors.Join(err, os.RemoveAll(b.tmp))
	}()
	b.env = b.cleanEnv(os.Environ())
	if err := os.WriteFile(filepath.Join(b.tmp, "spider.py"), spider, 0o600); err != nil {
		return err
	}
	r := b.newResult()
	if err := measure(ctx, r); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	if b.json {
		err = cli.WriteJSON(out, r)
	} else {
		err = r.writeText(out)
	}
	return errors.Join(err, r.verdict())
}

// cleanEnv returns env without settings of curtsy and of the garbage collector.
func (b *bench) cleanEnv(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return strings.HasPrefix(kv, "CURTSY_") || strings.HasPrefix(kv, "GOGC=") || strings.HasPrefix(kv, "GOMEMLIMIT=")
	})
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AppData", "LocalAppData"} {
		env = append(env, name+"="+filepath.Join(b.tmp, "user"))
	}
	return env
}

// crawls measures all contenders in rounds. Each round starts with another one, so that the order changes.
func (b *bench) crawls(ctx context.Context, r *result) error {
	for round := range b.rounds {
		for i := range b.contenders {
			at := (round + i) % len(b.contenders)
			c, row := b.contenders[at], &r.Contenders[at]
			if row.Stopped() {
				continue // it would be stopped again
			}
			x, err := b.measure(ctx, c, round)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", c.name, round+1, err)
			}
			b.print("round %d of %d: %s: %.0f pages/s, %.3f CPU ms per page", round+1, b.rounds, c.name, x.PagesPerS, x.CPUPerPage)
			row.Rounds = append(row.Rounds, x)
		}
	}
	r.conclude()
	return nil
}

func (b *bench) measure(ctx context.Context, c contender, round int) (x round, err error) {
	profile := ""
	if b.profile != "" && c.job.Do == "crawl" {
		name := strings.NewReplacer(", ", "-", " ", "-").Replace(c.name)
		if profile, err = filepath.Abs(filepath.Join(b.profile, fmt.Sprintf("%s-%d.pprof", name, round+1))); err != nil {
			return x, err
		}
	}
	var own childStats
	e, dir, err := b.once(ctx, c, profile, &own)
	if err != nil {
		return x, err
	}
	judged, err := b.webs[c.web].report()
	if err != nil {
		return x, err
	}
	if judged.Pages == 0 && !e.stopped {
		return x, fmt.Errorf("it requested no page: %s", e.stderr)
	}
	x = newRound(e, own, judged)
	if b.name == mirrorTree {
		if !c.peer() {
			dir = mirror.Tree(dir)
		}
		err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				x.Files++
			}
			return err
		})
	}
	return x, err
}

// once runs a contender, and decodes the result of a job of this program into out. The directory of the crawl remains until
// the end: ext4 does not reuse inode numbers that were freed within minutes, and skipping them makes new files ten times as
// expensive for the next contender.
func (b *bench) once(ctx context.Context, c contender, profile string, out any) (e ended, dir string, err error) {
	web, err := b.serve(ctx, c.web)
	if err != nil {
		return e, "", err
	}
	run, err := os.MkdirTemp(b.tmp, "run-")
	if err != nil {
		return e, "", err
	}
	dir = filepath.Join(run, "crawl")
	fill := strings.NewReplacer("{url}", web.seeds[0], "{seeds}", web.file, "{dir}", dir, "{spider}", filepath.Join(b.tmp, "spider.py"))
	p := process{words: c.words, limit: b.peerLimit, grace: peerGrace}
	if c.peer() {
		if err := os.Mkdir(dir, 0o777); err != nil {
			return e, "", err
		}
		for i := len(c.words) - 1; i >= 0; i-- {
			if c.words[i] == "{urls}" {
				p.words = slices.Concat(p.words[:i], web.seeds, p.words[i+1:])
			}
		}
	} else {
		j := c.job
		j.Args, j.Seeds, j.Out, j.Profile = slices.Clone(j.Args), web.seeds, filepath.Join(run, "out"), profile
		for i := range j.Args {
			j.Args[i] = fill.Replace(j.Args[i])
		}
		p = process{words: append([]string{b.self}, j.words()...), env: b.env, limit: patience, grace: procgroup.Grace}
	}
	for i := range p.words {
		p.words = slices.Clone(p.words)
		p.words[i] = fill.Replace(p.words[i])
	}
	if c.peer() { // its exit code does not count
		e, err = p.run(ctx)
	} else {
		e, err = p.result(ctx, filepath.Join(run, "out"), out)
	}
	return e, dir, err
}

type process struct {
	words        []string
	dir          string
	env          []string // nil = that of this process
	limit, grace time.Duration
	out          io.Writer // nil = the end is kept for errors
}

// ended is a finished process.
type ended struct {
	took    time.Duration
	state   *os.ProcessState
	stderr  string
	failed  error // its exit code
	stopped bool
}

// run returns an error if the process does not start or ctx ends. It also ends all child processes.
func (p *process) run(ctx context.Context) (e ended, err error) {
	limited, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	cmd := exec.CommandContext(limited, p.words[0], p.words[1:]...)
	stderr := &lastWords{}
	cmd.Dir, cmd.Env, cmd.WaitDelay, cmd.Stdout, cmd.Stderr = p.dir, p.env, p.grace, io.Writer(stderr), io.Writer(stderr)
	if p.out != nil {
		cmd.Stdout, cmd.Stderr = p.out, p.out
		if p.env != nil { // curtsy reports progress there
			cmd.Stderr = stderr
		}
	}
	procgroup.Together(cmd)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return e, err
	}
	failed := cmd.Wait()
	e = ended{took: time.Since(began), state: cmd.ProcessState, stderr: strings.TrimSpace(stderr.String()), failed: failed, stopped: limited.Err() != nil}
	procgroup.EndAll(cmd)
	return e, ctx.Err()
}

// result runs a job of this program and decodes its result file into out.
func (p *process) result(ctx context.Context, file string, out any) (e ended, err error) {
	if e, err = p.run(ctx); err != nil {
		return e, err
	}
	if e.failed != nil {
		return e, fmt.Errorf("%w: %s", e.failed, e.stderr)
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	return e, err
}

// lastWords keeps the end of an output.
type lastWords struct{ bytes.Buffer }

func (l *lastWords) Write(p []byte) (int, error) {
	n, err := l.Buffer.Write(p)
	l.Next(max(0, l.Len()-saidSize))
	return n, err
}

// remoteWeb is a web in another process. It prints its seeds, then a report of its servers for each line on its standard input,
// and ends with it.
type remoteWeb struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *json.Decoder
	seeds []string
	file  string // with the seeds
}

// serve returns the process of a web, and starts it if needed.
func (b *bench) serve(ctx context.Context, c webConfig) (_ *remoteWeb, err error) {
	if w := b.webs[c]; w != nil {
		return w, nil
	}
	words := (&job{Do: "web", Web: c}).words()
	w := &remoteWeb{cmd: exec.CommandContext(context.WithoutCancel(ctx), b.self, words...), file: filepath.Join(b.tmp, fmt.Sprintf("seeds-%d", len(b.webs)))}
	procgroup.Together(w.cmd) // an interrupt reaches only this process, which closes the web last
	stderr := &lastWords{}
	w.cmd.Stderr = stderr
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	w.out = json.NewDecoder(out)
	if err := w.out.Decode(&w.seeds); err != nil {
		return nil, fmt.Errorf("start the web: %w: %s", errors.Join(err, w.close()), stderr.String())
	}
	b.webs[c] = w
	return w, os.WriteFile(w.file, []byte(strings.Join(w.seeds, "\n")+"\n"), 0o600)
}

// report returns the servers' report since the last call.
func (w *remoteWeb) report() (r refereed, err error) {
	if _, err := io.WriteString(w.in, "report\n"); err != nil {
		return r, err
	}
	return r, w.out.Decode(&r)
}

func (w *remoteWeb) close() error { return errors.Join(w.in.Close(), w.cmd.Wait()) }

// job is the task of a process of this program, given as JSON to the hidden command child.
type job struct {
	Do      string    // web, crawl or bare
	Web     webConfig // of web
	Args    []string  // of crawl
	Seeds   []string
	Workers int    // of bare
	Most    int    // pages of bare; 0 = all
	Tuned   bool   // bare has the collector's setting of a crawl
	Profile string // file for the profile of a crawl; empty for none
	Out     string // file for the result
}

func (j *job) words() []string {
	text, err := json.Marshal(j)
	if err != nil {
		panic(err) // a job fits JSON
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

// run returns the measurements.
func (j *job) run(ctx context.Context, std cli.Streams) (any, error) {
	switch j.Do {
	case "crawl":
		err := j.crawl(ctx, std)
		return ownStats(), err
	case "bare":
		if j.Tuned {
			defer cli.Tune(crawldir.Defaults().MemoryLimit)()
		}
		_, err := runBare(ctx, j.Seeds, j.Workers, j.Most)
		return ownStats(), err
	}
	return nil, cli.Usagef("no job %q", j.Do)
}

func (j *job) crawl(ctx context.Context, std cli.Streams) error {
	crawl := crawlcmd.New(std)
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
	runtime.GC() // the profile ends at the last collection
	return errors.Join(err, pprof.Lookup("allocs").WriteTo(&allocs, 0), os.WriteFile(j.Profile, cpu.Bytes(), 0o666),
		os.WriteFile(strings.TrimSuffix(j.Profile, ".pprof")+".allocs.pprof", allocs.Bytes(), 0o666))
}

// childStats are measured by the process itself.
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
