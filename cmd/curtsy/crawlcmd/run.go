package crawlcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/dashboard"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/storage/plainly"
)

// World is the network of a run. The zero value is the real one.
type World struct {
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
}

// runCrawl runs the crawl in o.dir and reports on it.
func runCrawl(ctx context.Context, s *crawldir.Settings, o *options, w World, std cli.Streams) error {
	defer cli.Tune(s.MemoryLimit)()
	if err := o.page.Begin(ctx, o.dir, std); err != nil {
		return err
	}
	display := progress.New(std.Err, o.quiet, false)
	// The run catches them until all files are closed.
	defer signal.Reset(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	result, sig, err := runIn(ctx, s, o, w, display)
	summary := result.Summary
	display.Finish()
	if err == nil && sig == nil && o.made && reachedNobody(summary) {
		return withdraw(o, summary, std)
	}
	if err == nil && s.Mirror {
		o.mirrored, err = build(ctx, s, o.dir, display)
	}
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w\nThe disk is full. Nothing that was finished is lost: free some space, then run curtsy resume %s", err, plainly.Argument(o.dir))
	}
	if err != nil {
		return err
	}
	if o.follower() != nil {
		if err := o.ends(summary, result.Changes); err != nil {
			return err
		}
	}
	switch {
	case o.then != nil:
		return o.then(Ended{Dir: o.dir, Result: result, Signal: sig})
	case o.follower() != nil:
	case !o.quiet:
		if o.mirrored != nil {
			fmt.Fprint(std.Err, o.mirrored.Lead())
		}
		fmt.Fprint(std.Err, text.Summary(summary, o.dir, w.Dial == nil))
		if result.Changes != nil {
			fmt.Fprint(std.Err, changesText(result.Changes))
		}
		if o.mirrored != nil {
			fmt.Fprint(std.Err, o.mirrored.Text())
		}
	case sig == nil:
		if summary.Incomplete {
			sayIncomplete(std.Err, summary, o.dir)
		}
		if o.mirrored.Incomplete() {
			why, _, _ := strings.Cut(o.mirrored.Lead(), "\n")
			fmt.Fprintf(std.Err, "curtsy: %s\n", why)
		}
	}
	if o.json {
		out := struct {
			crawler.Summary
			Update *crawldir.Changes `json:"update,omitempty"`
			Mirror *Built            `json:"mirror,omitempty"`
		}{summary, result.Changes, o.mirrored}
		if err := cli.WriteJSON(std.Out, out); err != nil {
			return err
		}
	}
	switch {
	case sig != nil:
		return cli.Interrupted(sig)
	case summary.Incomplete, o.mirrored.Incomplete():
		return cli.Silent(cli.ExitIncomplete)
	}
	return nil
}

func sayIncomplete(w io.Writer, s crawler.Summary, dir string) {
	why, command := plainly.Count(s.SeedsUnanswered, "seed")+" without a usable response", "report"
	if s.EndedBy == crawler.EndedWaiting {
		why, command = "the crawl ended incomplete", "status"
	}
	fmt.Fprintf(w, "curtsy: %s; see curtsy %s %s\n", why, command, plainly.Lines(plainly.Argument(dir)))
}

// runIn runs the crawl in o.dir, unless it is finished. A signal first interrupts the opening, which may take long. Later it
// stops the crawl, and sig is the signal.
func runIn(ctx context.Context, s *crawldir.Settings, o *options, w World, display *progress.Display) (r crawldir.Result, sig os.Signal, err error) {
	opts := crawldir.Options{
		Settings: s, Say: func(n crawldir.Note) { display.Say("%s", cli.Note(n, o.dir)) },
		Resolve: w.Resolve, Dial: w.Dial,
		Attend: func(ctx context.Context, start crawldir.Start) (summary crawler.Summary, err error) {
			if err := announce(s, o, start, display); err != nil {
				return summary, err
			}
			summary, sig, err = attend(ctx, start.Crawl, display, o.follower())
			return summary, err
		},
		Line: o.lines(display.Line),
	}
	if events := o.follower(); events != nil {
		opts.Operator = events.Act
	}
	var d *crawldir.Dir
	err = cli.UntilSignal(ctx, func(ctx context.Context) (err error) {
		d, err = crawldir.Open(ctx, o.dir, opts)
		if err == nil && ctx.Err() != nil { // the signal came after the opening
			err = errors.Join(ctx.Err(), d.Close())
		}
		return err
	})
	if errors.Is(err, frontier.ErrInUse) {
		return r, nil, fmt.Errorf("%w; see how it is with curtsy status %s", err, plainly.Argument(o.dir))
	}
	if err != nil {
		return r, nil, cli.Damaged(err, o.dir)
	}
	r, err = d.Run(ctx)
	return r, sig, errors.Join(err, d.Close())
}

// announce reports where the crawl goes, and once that a short --delay is for the user's own hosts only.
func announce(s *crawldir.Settings, o *options, start crawldir.Start, display *progress.Display) error {
	foreign := start.Named || s.LoopbackForeign()
	seeds := plainly.Count(start.Seeds, "seed")
	switch {
	case o.dryRun:
		display.Say("requesting only robots.txt and sitemaps, for %s", seeds)
	case o.follower() != nil:
		err := o.journal.Tell(slog.LevelInfo, begins, slog.String("dir", o.dir), slog.Int64("seeds", start.Seeds),
			slog.Bool("again", o.again), slog.Int64("workers", s.Workers), slog.String("version", crawldir.Version))
		if err != nil {
			return err
		}
	case o.generation > 0:
		again := "resume"
		if s.LinkCheck {
			again = "linkcheck"
		}
		display.Say("updating %s (generation %d); after an interruption, continue with curtsy %s %s", o.dir, o.generation, again, plainly.Argument(o.dir))
	case o.again:
		display.Say("resuming crawl (%s) in %s", seeds, o.dir)
	default:
		display.Say("crawling from %s into %s", seeds, o.dir)
	}
	if names := s.OwnNames(); len(names) > 0 && !o.dryRun {
		display.Say("%s: your own once %s is found there", strings.Join(names, ", "), crawler.OwnerPath)
		foreign = false // the crawl reports each
	}
	if o.made && !o.json && !start.Named && !s.LoopbackForeign() && s.Delay == crawldir.Defaults().Delay {
		display.Say("all seeds are on this machine (loopback): --delay 0 would remove the delay of %v between requests", plainly.Duration(s.Delay))
	}
	if foreign && s.Delay < crawler.Floor {
		display.Say("--delay %v applies only to your own hosts; other hosts keep %v", plainly.Duration(s.Delay), crawler.Floor)
	}
	return nil
}

// attend runs a crawl with signals and progress, which goes to people or to events. It returns the signal that ended the
// crawl, or nil. A closed standard error counts as SIGPIPE. The signals stay caught when it returns, so that a late one does
// not interrupt the closing of the directory.
func attend(ctx context.Context, c *crawler.Crawl, display *progress.Display, events *journal) (summary crawler.Summary, sig os.Signal, err error) {
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signal.Notify(signals, syscall.SIGHUP)
	}
	signal.Ignore(syscall.SIGPIPE) // Notify would also report each connection that a server resets
	defer signal.Reset(syscall.SIGPIPE)

	var beside errgroup.Group
	unread := make(chan struct{}) // closed when no event can be written
	beside.Go(func() error {
		deaf, unread := display.Deaf, unread
		drain := func() {
			if deaf, unread = nil, nil; sig == nil {
				sig = syscall.SIGPIPE
				c.Drain()
			}
		}
		for {
			select {
			case <-over.Done():
				return nil
			case <-deaf:
				drain()
			case <-unread:
				drain()
			case got := <-signals:
				if sig != nil {
					display.Say("aborting; resume repeats the unfinished requests")
					abort()
					continue
				}
				sig = got
				display.Say("finishing requests in flight; press Ctrl-C again to abort them")
				c.Drain()
			}
		}
	})
	beside.Go(func() error {
		if events == nil {
			display.Follow(over, c)
		} else {
			events.Follow(over, c, func(error) { close(unread) })
		}
		return nil
	})
	summary, err = c.Run(ctx)
	end()
	err = errors.Join(err, beside.Wait()) // sig may be set until here
	return summary, sig, err
}

// reachedNobody reports whether no connection to any host succeeded, usually because a name, a port or a scheme is
// mistyped. A host that required another crawl to wait exists.
func reachedNobody(s crawler.Summary) bool {
	parked, retired := frontier.Parked.String(), frontier.Retired.String()
	return s.EndedBy == crawler.EndedWaiting && s.Status.Bytes == 0 && s.Status.Exchanges == 0 && len(s.Status.Resting) > 0 &&
		!slices.ContainsFunc(s.Status.Resting, func(r status.Resting) bool {
			return r.Condition != parked && r.Condition != retired || crawler.AskedAnother(r.Reason)
		})
}

// withdraw removes a directory that this command made and that holds no response, so that the corrected command can use it.
func withdraw(o *options, s crawler.Summary, std cli.Streams) error {
	entries, err := os.ReadDir(o.dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(o.dir, e.Name())))
	}
	if err == nil {
		_ = os.Remove(o.dir) // fails for a working directory or a mount
	}
	for i, r := range s.Status.Resting {
		if !o.quiet {
			break // each was reported as it happened
		}
		if i == text.MaxShown {
			fmt.Fprintf(std.Err, "… and %s\n", plainly.Count(int64(len(s.Status.Resting)-i), "other"))
			break
		}
		fmt.Fprintf(std.Err, "%s: %s\n", plainly.OneLine(r.Host), plainly.OneLine(plainly.Reason(r.Reason)))
	}
	fmt.Fprintf(std.Err, "curtsy: no host was reached, and nothing is kept in %s: check the URLs and the network, then run the command again\n", plainly.Lines(o.dir))
	if o.json {
		err = errors.Join(err, cli.WriteJSON(std.Out, s))
	}
	return errors.Join(err, cli.Silent(cli.ExitIncomplete))
}

func NewDashboard(std cli.Streams) *cobra.Command {
	listen, token := "127.0.0.1:0", ""
	var names cli.List
	cmd := cli.Command("dashboard", cli.Flags{"listen": &listen, "name": &names, "token": &token})
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("dashboard takes one crawl directory or more: write curtsy dashboard DIR")
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return show(cmd.Context(), args, listen, token, names, std)
	}
	return cmd
}

func show(ctx context.Context, dirs []string, listen, tokenFile string, names []string, std cli.Streams) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	for _, dir := range dirs {
		if err := crawldir.Require(dir); err != nil {
			return err
		}
	}
	token, err := tokenIn("--token", tokenFile)
	if err != nil {
		return err
	}
	l, err := cli.Listen(ctx, listen)
	if err != nil {
		return err
	}
	s := of(dirs, dashboard.Options{Names: names, Token: token})
	fmt.Fprint(std.Err, warning(l.Addr()))
	if _, err := fmt.Fprintln(std.Out, s.Address(cli.FromHere(l.Addr()))); err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintln(std.Err, "serving until Ctrl-C")
	return s.Serve(ctx, l)
}

// of returns a server for directories. o.Profile marks a crawl of this process.
func of(dirs []string, o dashboard.Options) *dashboard.Server {
	o.Metrics = dashboard.MetricsOptions{Version: crawldir.Version, Process: o.Profile}.Handler
	for _, dir := range dirs {
		o.Sources = append(o.Sources, dashboard.NewDirectory(dir))
	}
	return dashboard.New(o)
}

// warning is for an address that other machines may reach; "" for any other.
func warning(at net.Addr) string {
	if !cli.Elsewhere(at) {
		return ""
	}
	return fmt.Sprintf("other machines may reach %s, and the page is not encrypted there: anyone who can read the traffic can steer the crawl. "+
		"Put a server that speaks TLS before it, or reach it through ssh -L\n", at)
}

// beside serves the dashboard of a crawl in this process. The zero value serves none.
type beside struct {
	Address string // to listen at; "" for no dashboard
	Token   string // file with the token; "" for a new token
	token   string
	l       net.Listener
	end     context.CancelFunc
	served  chan error
	stderr  io.Writer // standard error
}

// Listen listens before anything else is done, so that a bad address fails early.
func (b *beside) Listen(ctx context.Context) (err error) {
	if b.Address == "" {
		if b.Token != "" {
			return cli.Usagef("--dashboard-token is for --dashboard ADDRESS:PORT")
		}
		return nil
	}
	if b.token, err = tokenIn("--dashboard-token", b.Token); err != nil {
		return err
	}
	b.l, err = cli.ListenFor(ctx, "--dashboard", b.Address)
	return err
}

// Begin serves the crawl in dir, and prints the address.
func (b *beside) Begin(ctx context.Context, dir string, std cli.Streams) error {
	if b.l == nil {
		return nil
	}
	s := of([]string{dir}, dashboard.Options{Token: b.token, Profile: true})
	fmt.Fprint(std.Err, warning(b.l.Addr()))
	if _, err := fmt.Fprintf(std.Err, "dashboard: %s\n", s.Address(cli.FromHere(b.l.Addr()))); err != nil {
		return err
	}
	ctx, b.end = context.WithCancel(context.WithoutCancel(ctx))
	b.served, b.stderr = make(chan error, 1), std.Err
	go func() { b.served <- s.Serve(ctx, b.l) }() // End waits for it
	return nil
}

// End stops the server. It only prints an error of the server: the crawl did not fail.
func (b *beside) End() {
	switch {
	case b.end != nil:
		b.end()
		if err := <-b.served; err != nil {
			fmt.Fprintf(b.stderr, "the dashboard ended before the crawl: %v\n", err)
		}
		b.end = nil
	case b.l != nil:
		b.l.Close()
	}
	b.l = nil
}

// tokenIn reads a dashboard's token from the user's file. Other users must not be able to read that file, because the token
// gives control of the crawl. Without a path it returns "", and the dashboard generates one.
func tokenIn(flag, path string) (string, error) {
	if path == "" {
		return "", nil
	}
	f, err := userfile.Open(path)
	if err != nil {
		return "", cli.Usagef("%s: %w", flag, err)
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		return "", cli.Usagef("%s: %w", flag, err)
	case runtime.GOOS != "windows" && fi.Mode().IsRegular() && fi.Mode().Perm()&0o077 != 0:
		return "", cli.Usagef("%s: other users can read %s, and anyone with the token can steer the crawl; chmod 600 prevents that", flag, path)
	}
	b, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err != nil {
		return "", cli.Usagef("%s: %w", flag, err)
	}
	token := strings.TrimSpace(string(b))
	// A sound token needs no escaping in a header field or a URL, and is too long to guess.
	if !regexp.MustCompile(`^[A-Za-z0-9._~+/-]{20,200}=*$`).MatchString(token) {
		return "", cli.Usagef("%s: %s holds no token, which is a line of 20 to 200 letters and digits, as openssl rand -hex 32 prints it", flag, path)
	}
	return token, nil
}
