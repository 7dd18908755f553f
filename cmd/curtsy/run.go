package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/fetch"
	"curtsy/crawler/totals"
	"curtsy/frontier"
	"curtsy/frontier/durable"
	"curtsy/frontier/engine"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
	"curtsy/storage/warc"
)

// world is what a run meets outside its settings: the network, unless it is the real one, the frontier, unless it is
// the usual one, and the file of settings to write anew once the directory is ours.
type world struct {
	config  []byte
	open    frontierOpener
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
}

// runCrawl runs the crawl in o.dir until its end and reports on it.
func runCrawl(ctx context.Context, s *settings, o *options, w world, std stdio) error {
	defer tuneMemory(s.MemoryLimit)()
	voice := newVoice(std.Err, o)
	// From the run on they are caught until all is closed and said.
	defer signal.Reset(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	summary, sig, err := runIn(ctx, s, o, w, voice)
	voice.finish()
	if err == nil && sig == nil && o.made && reachedNobody(summary) {
		return withdraw(o, summary, std)
	}
	if err == nil && s.Mirror && !o.dryRun {
		err = buildMirror(ctx, s, o, voice)
	}
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w\nThe disk is full. Nothing that was finished is lost: make room, then run curtsy resume %s", err, word(o.dir))
	}
	if err != nil {
		return err
	}
	switch {
	case !o.quiet:
		fmt.Fprint(std.Err, summaryText(summary, o.dir, w.dial == nil))
		if o.changes != nil {
			fmt.Fprint(std.Err, changesText(o.changes))
		}
		if o.mirrored != nil {
			fmt.Fprint(std.Err, o.mirrored.text())
		}
	case summary.Incomplete && sig == nil:
		fmt.Fprintf(std.Err, "curtsy: the crawl ended incomplete; see curtsy status %s\n", plain(word(o.dir)))
	}
	if o.json {
		out := struct {
			crawler.Summary
			Update *changes `json:"update,omitempty"`
			Mirror *built   `json:"mirror,omitempty"`
		}{summary, o.changes, o.mirrored}
		if err := writeJSON(std.Out, out); err != nil {
			return err
		}
	}
	switch {
	case sig != nil:
		return interrupted(sig)
	case summary.Incomplete:
		return silent(exitIncomplete)
	}
	return nil
}

// runIn runs the crawl in o.dir, unless it is finished already.
func runIn(ctx context.Context, s *settings, o *options, w world, voice *voice) (_ crawler.Summary, sig os.Signal, err error) {
	if err := mustHoldCrawl(o.dir); err != nil {
		return crawler.Summary{}, nil, err
	}
	if err := s.OpenLists(o.dir, voice.say); err != nil {
		return crawler.Summary{}, nil, err
	}
	info, err := s.ArchiveInfo(o.dir, w.config)
	if err != nil {
		return crawler.Summary{}, nil, err
	}
	if w.open == nil {
		w.open = engine.Open
	}
	d, err := s.openForRun(ctx, w.open, o.dir, info, voice)
	if err != nil {
		return crawler.Summary{}, nil, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := warn(ctx, d.frontier, o.dir, voice); err != nil {
		return crawler.Summary{}, nil, err
	}
	more, err := s.AsksForMore(ctx, d.frontier)
	if err != nil {
		return crawler.Summary{}, nil, err
	}
	if summary, ok, err := finished(ctx, d.frontier); ok && !more || err != nil {
		if ok && !changesDone(o.dir, d.generation.Number) {
			o.changes, err = d.conclude(ctx, s, true, voice.say)
		}
		return summary, nil, err
	}
	if w.config != nil {
		if err := durable.WriteFile(inDir(o.dir, crawldir.ConfigName), w.config, 0o666); err != nil {
			return crawler.Summary{}, nil, err
		}
	}
	seeds, err := seedsGiven(ctx, d.frontier)
	if err != nil {
		return crawler.Summary{}, nil, err
	}
	fc, err := s.FetchConfig(seeds.addresses, inDir(o.dir, crawldir.SpoolName))
	if err != nil {
		return crawler.Summary{}, nil, err
	}
	fc.Resolve, fc.Dial = w.resolve, w.dial
	f, err := fetch.New(fc)
	if err != nil {
		return crawler.Summary{}, nil, usagef("%w", err)
	}
	defer f.Close()
	cc, err := s.CrawlerConfig(f, voice.say)
	if err != nil {
		return crawler.Summary{}, nil, err
	}
	cc.Frontier, cc.Recorder, cc.Ledger = d.frontier, d.archive, d.ledger
	cc.Rests = ledger.Rests(inDir(d.path, crawldir.LedgerName))
	cc.Asked = func() (storage.Asked, error) { return ledger.Asked(inDir(d.path, crawldir.LedgerName)) }
	if w.dial == nil { // else the names are not those of real hosts
		locks, err := openHostLocks(voice.say)
		if err != nil {
			return crawler.Summary{}, nil, err
		}
		defer func() { err = errors.Join(err, locks.Close()) }()
		cc.HostLocks = locks
	}
	if o.verbose {
		cc.Ledger = spoken{cc.Ledger, voice}
	}
	cc.DryRun = o.dryRun
	if err := d.later(s, &cc); err != nil {
		return crawler.Summary{}, nil, err
	}
	c, err := crawler.New(ctx, cc)
	if err != nil {
		return crawler.Summary{}, nil, usagef("%w", err)
	}
	s.announce(o, seeds, w.config != nil, voice)
	summary, sig, err := attend(ctx, c, o.dir, voice)
	if err == nil && o.dryRun {
		o.answers, err = c.Answers(ctx)
	}
	if err == nil && sig == nil {
		o.changes, err = d.conclude(ctx, s, nothingLeft(summary), voice.say)
	}
	return summary, sig, err
}

// nothingLeft reports whether a run ended with nothing left to do.
func nothingLeft(s crawler.Summary) bool {
	return s.Status.Queued+s.Status.InFlight+s.Status.Deferred == 0
}

// openForRun opens a crawl directory, until a signal comes: what must be made first may take long.
func (s *settings) openForRun(ctx context.Context, open frontierOpener, dir string, info warc.Info, voice *voice) (d *crawlDir, err error) {
	err = untilSignal(ctx, func(ctx context.Context) error {
		d, err = openDirBy(ctx, open, dir, info, s.FrontierOptions(), s.Dedup, voice.say)
		if err == nil && ctx.Err() != nil { // all was there, and still the crawl is not to begin
			err = errors.Join(ctx.Err(), d.close())
		}
		return err
	})
	return d, err
}

// finished returns the summary of a crawl that has nothing left to do, and whether it is one.
func finished(ctx context.Context, f frontier.Reader) (crawler.Summary, bool, error) {
	status, err := crawler.StatusOf(ctx, f)
	if err != nil || status.State != "finished" {
		return crawler.Summary{}, false, err
	}
	stats, err := f.Stats(ctx)
	unanswered := stats.Counts[totals.SeedsUnanswered]
	return crawler.Summary{
		EndedBy: crawler.EndedDrained, Status: status, SeedsUnanswered: unanswered, Incomplete: unanswered > 0,
	}, true, err
}

// warn says what a kill left: URLs that may have brought the process down.
func warn(ctx context.Context, f frontier.Reader, dir string, voice *voice) error {
	st, err := f.Stats(ctx)
	if err != nil {
		return err
	}
	if st.Suspects > 0 {
		voice.say("%s in flight when the process died: each is tried again after the others, alone", several(st.Suspects, "URL"))
	}
	if n := st.Reasons[frontier.Failed][frontier.ReasonQuarantined]; n > 0 {
		voice.say("%s set aside: the process died %d times while nothing else was in flight. See curtsy frontier ls --urls --reason %s %s; try again with curtsy frontier retry --reason %s %s",
			several(n, "URL"), frontier.QuarantineStops, frontier.ReasonQuarantined, word(dir), frontier.ReasonQuarantined, word(dir))
	}
	return nil
}

// announce says where the crawl goes, and once that a short --delay is for the user's own hosts only.
func (s *settings) announce(o *options, seeds givenSeeds, again bool, voice *voice) {
	foreign := seeds.named || s.LoopbackForeign()
	switch {
	case o.dryRun:
		voice.say("asking for robots.txt alone, for %s", several(seeds.count, "seed"))
	case again:
		voice.say("going on with the crawl from %s in %s", several(seeds.count, "seed"), o.dir)
	default:
		voice.say("crawling from %s into %s", several(seeds.count, "seed"), o.dir)
	}
	if names := s.OwnNames(); len(names) > 0 && !o.dryRun {
		voice.say("%s: your own once %s is found there", strings.Join(names, ", "), crawler.OwnerPath)
		foreign = false // the crawl says of each whether it is
	}
	if foreign && s.Delay < crawler.Floor {
		voice.say("--delay %v acts on hosts of your own only; any other keeps %v", plainly.Duration(s.Delay), crawler.Floor)
	}
}
