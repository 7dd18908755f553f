package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/procgroup"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/scoreboard"
	"curtsy/storage/plainly"
)

func newServe(std cli.Streams) *cobra.Command {
	token, keys := "curtsy", ""
	var wing, torture, asJSON bool
	cmd := cli.Command("crawltest serve", cli.Flags{"token": &token, "all-hostile": &wing, "keys": &keys, "torture": &torture, "json": &asJSON})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if torture && keys != "" {
			return cli.Usagef("--torture serves another web: --keys has no effect on it")
		}
		if torture && wing {
			return cli.Usagef("--torture serves another web: --all-hostile has no effect on it")
		}
		if torture {
			return tortureServe(cmd.Context(), token, asJSON, std)
		}
		return crawltestServe(cmd.Context(), token, keys, wing, asJSON, std)
	}
	return cmd
}

func crawltestServe(ctx context.Context, token, keys string, wing, asJSON bool, std cli.Streams) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	board, err := startBoard(token, keys, wing)
	if err != nil {
		return err
	}
	defer board.Close()
	if asJSON {
		err = cli.WriteJSON(std.Out, newBoardMap(board.Web, board.Seed()))
	} else {
		command := tryCrawl
		if token != "curtsy" { // the rules of the board bind another crawler
			command = ""
		}
		err = writeBoard(std.Out, board.Web, board.Seed(), command)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(std.Err, "serving until Ctrl-C, which prints the score; a polite crawl takes 2 to 3 minutes")
	<-ctx.Done()
	if err := board.Close(); err != nil {
		return err
	}
	score := board.Judge(scoreboard.Ending{})
	if asJSON {
		err = cli.WriteJSON(std.Out, newScoreJSON(score, board.Seed()))
	} else {
		fmt.Fprintln(std.Out)
		err = score.WriteTable(std.Out)
	}
	if err == nil && !score.OK() {
		err = cli.Silent(cli.ExitFound)
	}
	return err
}

// directoryIn reads the key directory of a crawler; nil if path is empty.
func directoryIn(path string) (*crawltest.Directory, error) {
	if path == "" {
		return nil, nil
	}
	b, err := userfile.ReadAll(path, crawltest.MaxDirectory)
	if err != nil {
		return nil, cli.Usagef("--keys: %w", err)
	}
	d, err := crawltest.ParseDirectory(b)
	if err != nil {
		return nil, cli.Usagef("--keys %s: %w", path, err)
	}
	return d, nil
}

// startBoard serves the scoreboard for a crawler with a product token and the key directory in the file keys.
func startBoard(token, keys string, wing bool) (*scoreboard.Board, error) {
	if !canBeToken(token) {
		return nil, cli.Usagef("--token %q: a product token has letters, - and _ (RFC 9309 2.2.1); a number may follow", token)
	}
	directory, err := directoryIn(keys)
	if err != nil {
		return nil, err
	}
	board := scoreboard.New(token, wing)
	board.Keys = directory
	if err := board.Start(); err != nil {
		return nil, err
	}
	return board, nil
}

// canBeToken reports whether a User-agent line can name one crawler so.
func canBeToken(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
	return name != "" && strings.Contains(letters, name[:1]) && strings.Trim(name, letters+"0123456789.") == ""
}

// tryCrawl is the command with which curtsy crawls the board, without the contact, which is the user's own.
const tryCrawl = "crawl --dir crawltest --scope any --max-time 10m --max-wait 25s --own-site none"

// writeBoard prints the seed, the curtsy command for the crawl if there is one, and the address of each host.
func writeBoard(w io.Writer, web *crawltest.Web, seed, command string) error {
	fmt.Fprintf(w, "seed  %s\n", seed)
	if command != "" {
		fmt.Fprintf(w, "try   curtsy %s --allow-net 127.0.0.0/8 %s\n", command, plainly.Argument(seed))
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "HOST\tSERVED AT")
	for _, h := range web.Hosts() {
		fmt.Fprintf(tw, "%s\t%s\n", h, web.LoopbackURL(h))
	}
	return tw.Flush()
}

type absentJSON struct {
	URL   string `json:"url"`
	Why   string `json:"why"`
	Embed bool   `json:"embed,omitempty"` // a page embeds it
}

func newRulesJSON(r crawltest.Report) []ruleJSON {
	var rules []ruleJSON
	for _, row := range r.Rows {
		j := ruleJSON{Rule: string(row.Rule), Verdict: scoreboard.Word(row.Verdict), Evidence: row.Evidence}
		for _, f := range row.Findings {
			j.Findings = append(j.Findings, findingJSON{Host: f.Host, Target: f.Target, Text: f.Text})
		}
		rules = append(rules, j)
	}
	return rules
}

// tortureServe serves the torture site until Ctrl-C, then prints how polite the visit was.
func tortureServe(ctx context.Context, token string, asJSON bool, std cli.Streams) error {
	if !canBeToken(token) {
		return cli.Usagef("--token %q: a product token has letters, - and _ (RFC 9309 2.2.1)", token)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := scoreboard.NewTorture()
	if err := o.Start(); err != nil {
		return err
	}
	defer o.Close()
	if err := writeTorture(std.Out, o, asJSON); err != nil {
		return err
	}
	fmt.Fprintln(std.Err, "serving until Ctrl-C")
	<-ctx.Done()
	if err := o.Close(); err != nil {
		return err
	}
	verdict := o.Judge(token)
	if asJSON {
		if err := cli.WriteJSON(std.Out, newRulesJSON(verdict)); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(std.Out)
		if err := verdict.WriteTable(std.Out); err != nil {
			return err
		}
	}
	if !verdict.OK() {
		return cli.Silent(cli.ExitFound)
	}
	return nil
}

func writeTorture(w io.Writer, o *scoreboard.Web, asJSON bool) error {
	if asJSON {
		m := newBoardMap(o.Web, o.Seed())
		for _, a := range o.Absent {
			m.Absent = append(m.Absent, absentJSON{o.Local(a.URL), a.Why, a.Embed})
		}
		return cli.WriteJSON(w, m)
	}
	return writeBoard(w, o.Web, o.Seed(), "mirror --dir torture")
}

type scoring struct {
	json, quiet, verbose bool

	token   string
	keys    string
	wing    bool
	rules   []string
	timeout crawldir.Duration
	log     string
}

func newScore(std cli.Streams) *cobra.Command {
	s := scoring{timeout: crawldir.Duration(5 * time.Minute)}
	cmd := cli.Command("crawltest score", cli.Flags{
		"token": &s.token, "all-hostile": &s.wing, "keys": &s.keys, "timeout": &s.timeout,
		"rules": (*cli.List)(&s.rules), "json": &s.json, "log": &s.log, "quiet": &s.quiet, "verbose": &s.verbose,
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("which crawler? write %s", cmd.UseLine())
		}
		if !strings.Contains(strings.Join(args, " "), "{seed}") {
			return errors.New("the command does not mention {seed}, where the crawl is to begin")
		}
		return nil
	}
	cmd.Flags().SetInterspersed(false) // flags after the command's name belong to that command
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), args, std) }
	return cmd
}

// check validates the flags, and sets the token if it is empty.
func (s *scoring) check(command []string) error {
	if s.quiet && s.verbose {
		return cli.Usagef("--quiet and --verbose contradict each other")
	}
	if err := cli.MayWrite("--log", s.log, userfile.Kind{}); err != nil {
		return err
	}
	if s.timeout <= 0 {
		return cli.Usagef("--timeout %v ends the command before it begins", &s.timeout)
	}
	if s.token == "" {
		name := strings.TrimSuffix(filepath.Base(command[0]), ".exe")
		if s.token = name; !canBeToken(name) {
			return cli.Usagef("--token: %q is not a product token; give the name that the crawler looks for in robots.txt", name)
		}
	}
	all := scoreboard.New(s.token, s.wing).Rules()
	for _, part := range s.rules {
		if !slices.ContainsFunc(all, func(r crawltest.Rule) bool { return names(part, r) }) {
			var list []string
			for _, r := range all {
				list = append(list, string(r))
			}
			return cli.Usagef("--rules: no rule is called %q; there are: %s", part, strings.Join(list, "; "))
		}
	}
	return nil
}

func names(part string, r crawltest.Rule) bool {
	return strings.Contains(strings.ToLower(string(r)), strings.ToLower(strings.TrimSpace(part)))
}

func (s *scoring) run(ctx context.Context, command []string, std cli.Streams) error {
	if err := s.check(command); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	board, err := startBoard(s.token, s.keys, s.wing)
	if err != nil {
		return err
	}
	defer board.Close()
	r, err := s.crawl(ctx, board, command, std)
	if err != nil {
		return err
	}
	if err := board.Close(); err != nil {
		return err
	}
	if r.idle && !r.interrupted {
		return errors.New("the command made no request, so there is nothing to score; is it allowed to contact 127.0.0.1?")
	}
	ending := scoreboard.Ending{Shown: true}
	if r.timedOut || r.interrupted {
		ending.Cut = r.took
	}
	score := board.Judge(ending)
	if len(s.rules) > 0 {
		score.Rows = slices.DeleteFunc(score.Rows, func(row crawltest.Row) bool {
			return !slices.ContainsFunc(s.rules, func(part string) bool { return names(part, row.Rule) })
		})
	}
	if s.json {
		j := newScoreJSON(score, board.Seed())
		j.Command, j.Exit = r.command, r.exit
		err = cli.WriteJSON(std.Out, j)
	} else {
		err = score.WriteTable(std.Out)
	}
	switch {
	case err != nil:
		return err
	case r.interrupted:
		return cli.Silent(cli.ExitSignalled + int(syscall.SIGINT))
	case !score.OK():
		return cli.Silent(cli.ExitFound)
	}
	return nil
}

type ran struct {
	command     []string
	exit        *int // nil when a signal ended it
	took        time.Duration
	timedOut    bool
	interrupted bool // by the user
	idle        bool // it made no request
}

// crawl runs the command to its end, or to the timeout.
func (s *scoring) crawl(ctx context.Context, board *scoreboard.Board, command []string, std cli.Streams) (_ ran, err error) {
	dir, err := os.MkdirTemp("", "curtsy-score-")
	if err != nil {
		return ran{}, err
	}
	defer os.RemoveAll(dir)
	fill := strings.NewReplacer("{seed}", board.Seed(), "{dir}", filepath.Join(dir, "crawl"))
	if err := os.Mkdir(filepath.Join(dir, "crawl"), 0o777); err != nil {
		return ran{}, err
	}
	r := ran{}
	for _, arg := range command {
		r.command = append(r.command, fill.Replace(arg))
	}
	out, err := s.output(dir, std)
	if err != nil {
		return ran{}, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()

	limited, cancel := context.WithTimeout(ctx, time.Duration(s.timeout))
	defer cancel()
	cmd := exec.CommandContext(limited, r.command[0], r.command[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = procgroup.Grace
	procgroup.Together(cmd)
	display := progress.New(std.Err, s.quiet, false)
	defer display.Finish()
	display.Say("running %s, whose name in robots.txt is %s", strings.Join(r.command, " "), s.token)
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return ran{}, fmt.Errorf("the crawler could not be run: %w", err)
	}
	failed := s.watch(cmd, board, display)
	procgroup.EndAll(cmd)
	r.took = time.Since(start)
	r.interrupted = ctx.Err() != nil
	r.timedOut = !r.interrupted && limited.Err() != nil
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		r.exit = &code
	}
	display.Finish()
	display.Say("%s", r.describe(failed))
	r.idle = len(board.Referee().Requests()) == 0
	if failed := r.exit != nil && *r.exit != 0 && !r.timedOut; (failed || r.idle) && !s.verbose {
		display.Say("%s", out.tail())
	}
	return r, nil
}

func (r ran) describe(failed error) string {
	took := r.took.Round(time.Second)
	switch {
	case r.interrupted:
		return fmt.Sprintf("interrupted after %v", took)
	case r.timedOut:
		return fmt.Sprintf("the command was ended after %v, the time-out", took)
	case r.exit != nil:
		return fmt.Sprintf("the command ended after %v with exit code %d", took, *r.exit)
	}
	return fmt.Sprintf("the command ended after %v: %v", took, failed)
}

// watch waits for the command, and shows its progress.
func (s *scoring) watch(cmd *exec.Cmd, board *scoreboard.Board, display *progress.Display) error {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(display.Every())
	defer tick.Stop()
	for start := time.Now(); ; {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if !display.Quiet && !(s.verbose && display.Live()) {
				display.Show(fmt.Sprintf("%s  %s", text.Clock(time.Since(start)), plainly.Count(int64(len(board.Referee().Requests())), "request")))
			}
		}
	}
}

// transcript is the output of a command: kept in a file, and shown on request.
type transcript struct {
	*os.File
	shown io.Writer
}

func (s *scoring) output(dir string, std cli.Streams) (*transcript, error) {
	path := s.log
	if path == "" {
		path = filepath.Join(dir, "output")
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	t := &transcript{File: f}
	if s.verbose {
		t.shown = std.Err
	}
	return t, nil
}

func (t *transcript) Write(p []byte) (int, error) {
	if t.shown != nil {
		fmt.Fprint(t.shown, plainly.Lines(string(p)))
	}
	return t.File.Write(p)
}

// tail returns the last lines, safe for a terminal.
func (t *transcript) tail() string {
	const most = 2 << 10
	size, err := t.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return "it has printed nothing"
	}
	text, _ := io.ReadAll(io.NewSectionReader(t, max(0, size-most), most))
	lines := strings.Split(strings.TrimSpace(plainly.Lines(string(text))), "\n")
	return "its last words:\n  " + strings.Join(lines[max(0, len(lines)-8):], "\n  ")
}

// boardMap lists where the web of the scoreboard, or the torture site, is served.
type boardMap struct {
	Seed   string            `json:"seed"`
	Hosts  map[string]string `json:"hosts"` // names to URLs
	Absent []absentJSON      `json:"absent,omitempty"`
}

func newBoardMap(web *crawltest.Web, seed string) boardMap {
	m := boardMap{Seed: seed, Hosts: map[string]string{}}
	for _, h := range web.Hosts() {
		m.Hosts[h] = web.LoopbackURL(h)
	}
	return m
}

type scoreJSON struct {
	Command  []string    `json:"command,omitempty"`
	Exit     *int        `json:"exit,omitempty"` // of the command; absent when a signal ended it
	Seed     string      `json:"seed"`
	Requests int         `json:"requests"`
	Elapsed  float64     `json:"elapsed_s"` // from the first request to the end of the last exchange
	Passed   int         `json:"passed"`
	Failed   int         `json:"failed"`
	NotShown int         `json:"not_shown"`
	Rules    []ruleJSON  `json:"rules"`
	Hosts    []visitJSON `json:"hosts"`
}

type ruleJSON struct {
	Number   int           `json:"number,omitempty"` // of the rule of politeness
	Rule     string        `json:"rule"`
	Source   string        `json:"source"`
	Verdict  string        `json:"verdict"` // "pass", "FAIL" or "not shown"
	Evidence string        `json:"evidence"`
	Findings []findingJSON `json:"findings,omitempty"`
}

type findingJSON struct {
	Host   string     `json:"host,omitempty"`
	Target string     `json:"target,omitempty"`
	At     *time.Time `json:"at,omitempty"` // absent for a request that never came
	Text   string     `json:"text"`
}

type visitJSON struct {
	Host     string  `json:"host"`
	Requests int     `json:"requests"`
	Robots   int     `json:"robots"`
	Pages    int     `json:"pages"`
	Gap      float64 `json:"smallest_gap_s"`
	AtOnce   int     `json:"at_once"`
}

func newScoreJSON(s scoreboard.Score, seed string) scoreJSON {
	out := scoreJSON{
		Seed: seed, Requests: s.Requests, Elapsed: s.Elapsed.Seconds(),
		Passed: s.Count(crawltest.Kept), Failed: s.Count(crawltest.Broken), NotShown: s.Count(crawltest.Unshown),
	}
	for _, row := range s.Rows {
		r := ruleJSON{Number: row.Number, Rule: string(row.Rule), Source: row.Source, Verdict: scoreboard.Word(row.Verdict), Evidence: row.Evidence}
		for _, f := range row.Findings {
			j := findingJSON{Host: f.Host, Target: f.Target, Text: f.Text}
			if !f.At.IsZero() {
				j.At = &f.At
			}
			r.Findings = append(r.Findings, j)
		}
		out.Rules = append(out.Rules, r)
	}
	for _, h := range s.Hosts {
		out.Hosts = append(out.Hosts, visitJSON{h.Host, h.Requests, h.Robots, h.Pages, h.Gap.Seconds(), h.Flying})
	}
	return out
}
