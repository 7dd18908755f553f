package crawlcmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/procgroup"
	"curtsy/crawler"
	"curtsy/crawler/dashboard"
	"curtsy/crawler/status"
	"curtsy/storage/plainly"
)

// hooks are the commands that the user has run at the end, and when something is wrong. They are no settings of a crawl: a
// directory that somebody was sent must not run anything.
type hooks struct {
	onEnd, onAlert string // as they are given
	end, alert     *Command

	summary *crawler.Summary // of the run; nil when there was none
}

func (h *hooks) flags(fs *pflag.FlagSet) {
	fs.StringVar(&h.onEnd, "on-end", "", "`COMMAND` run when the crawl has ended for any reason, without a\nshell; {dir}, {state}, {exit}, {message} and others are replaced")
	fs.StringVar(&h.onAlert, "on-alert", "", "`COMMAND` run when something is wrong; {alert}, {host} and {message}\nare replaced")
}

func (h *hooks) any() bool { return h.onEnd != "" || h.onAlert != "" }

// check reads the commands, and finds their programs.
func (h *hooks) check() (err error) {
	if h.onEnd != "" {
		if h.end, err = parse("on-end", h.onEnd, endNames); err != nil {
			return err
		}
	}
	if h.onAlert != "" {
		h.alert, err = parse("on-alert", h.onAlert, alertNames)
	}
	return err
}

// follow runs the command of alerts until ctx ends.
func (h *hooks) follow(ctx context.Context, dir string, c *crawler.Crawl, say func(string, ...any)) {
	if h.alert == nil {
		return
	}
	dir = absolute(dir)
	follow(ctx, c.Status, func() int64 { return dashboard.Free(dir) }, func(a alert, s status.Status) {
		err := h.alert.Run(ctx, hookFacts{"dir": dir, "state": s.State, "alert": a.Name, "host": a.Host, "message": a.Message})
		if err != nil {
			say("%s", plainly.OneLine(err.Error()))
		}
	})
}

// ended runs the command of the end, after all else: err is how the command line ends. It changes nothing of that.
func (h *hooks) ended(ctx context.Context, dir string, err error, std cli.Streams) {
	if h.end == nil || h.summary == nil {
		return
	}
	text, code := cli.Ended(err)
	s := &h.summary.Status
	if text == "" {
		text = fmt.Sprintf("%s: %s, %d failed, %d left", h.summary.EndedBy, plainly.Count(s.Pages, "page"), s.Failed, s.Queued+s.InFlight+s.Deferred)
	}
	facts := hookFacts{
		"dir": absolute(dir), "state": stateOf(code), "exit": strconv.Itoa(code), "ended_by": h.summary.EndedBy,
		"pages": strconv.FormatInt(s.Pages, 10), "failed": strconv.FormatInt(s.Failed, 10),
		"left": strconv.FormatInt(s.Queued+s.InFlight+s.Deferred, 10), "message": text,
	}
	failed := cli.UntilSignal(context.WithoutCancel(ctx), func(ctx context.Context) error { return h.end.Run(ctx, facts) })
	if failed != nil {
		fmt.Fprintf(std.Err, "%s\n", plainly.OneLine(failed.Error()))
	}
}

// stateOf is how a crawl ended, by the exit code.
func stateOf(code int) string {
	switch {
	case code == cli.ExitDone:
		return "finished"
	case code == cli.ExitFound:
		return "found"
	case code == cli.ExitIncomplete:
		return "incomplete"
	case code > cli.ExitSignalled:
		return "interrupted"
	}
	return "failed"
}

// absolute is a directory as commands find it, wherever they run.
func absolute(dir string) string {
	if whole, err := filepath.Abs(dir); err == nil {
		return whole
	}
	return dir
}

// limit is how long a command may take.
const limit = time.Minute

// A Command is what is to be run, in its arguments, with names in braces for facts.
type Command struct {
	flag string
	args []string
}

// hookFacts are what a command is told, by name. They are in its environment, too.
type hookFacts map[string]string

// Names of facts.
var (
	endNames   = []string{"dir", "state", "exit", "ended_by", "pages", "failed", "left", "message"}
	alertNames = []string{"dir", "state", "alert", "host", "message"}
)

// place is where a fact is put.
var place = regexp.MustCompile(`\{([a-z_]+)\}`)

// parse reads the command of a flag, which may use facts of these names, and finds its program.
func parse(flag, text string, names []string) (*Command, error) {
	args, err := split(text)
	if err != nil {
		return nil, cli.Usagef("--%s %q: %w", flag, text, err)
	}
	if len(args) == 0 || args[0] == "" {
		return nil, cli.Usagef("--%s is empty: name a command", flag)
	}
	if place.MatchString(args[0]) {
		return nil, cli.Usagef("--%s %q: the command itself is fixed; facts like %s are for its arguments", flag, text, place.FindString(args[0]))
	}
	for _, a := range args[1:] {
		for _, m := range place.FindAllStringSubmatch(a, -1) {
			if slices.Contains(names, m[1]) {
				continue
			}
			hint := "; there are {" + strings.Join(names, "}, {") + "}"
			if near := plainly.Nearest(m[1], names); near != "" {
				hint = "; did you mean {" + near + "}?"
			}
			return nil, cli.Usagef("--%s %q: unknown %s%s", flag, text, m[0], hint)
		}
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return nil, cli.Usagef("--%s: no command %s can be run: %w", flag, args[0], errors.Unwrap(err))
	}
	args[0] = path
	return &Command{flag, args}, nil
}

// split cuts a command into arguments: blanks are between them, and what stands in quotes of either kind is taken as it is,
// without them. Nothing else means anything.
func split(text string) (args []string, err error) {
	var arg strings.Builder
	var quote rune
	begun := false
	for _, r := range text {
		switch {
		case r == 0:
			return nil, errors.New("an argument cannot contain a zero byte")
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, begun = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n' || r == '\r'):
			if begun {
				args = append(args, arg.String())
			}
			arg.Reset()
			begun = false
		default:
			arg.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote %c has no end", quote)
	}
	if begun {
		args = append(args, arg.String())
	}
	return args, nil
}

// mostFact bounds a fact, in bytes.
const mostFact = 2000

// filled are the arguments with facts in their places. What a fact holds stays within its argument, and begins no option.
func (c *Command) filled(f hookFacts) []string {
	args := []string{c.args[0]}
	for _, a := range c.args[1:] {
		whole := place.ReplaceAllStringFunc(a, func(p string) string { return f[p[1:len(p)-1]] })
		if strings.HasPrefix(whole, "-") && !strings.HasPrefix(a, "-") {
			whole = " " + whole
		}
		args = append(args, whole)
	}
	return args
}

// plain are facts that hold one line each, of bounded length.
func plain(f hookFacts) hookFacts {
	all := hookFacts{}
	for name, value := range f {
		if value = plainly.OneLine(value); len(value) > mostFact {
			value = strings.ToValidUTF8(value[:mostFact], "") + "…"
		}
		all[name] = value
	}
	return all
}

// Run runs the command until its end, for Limit at most, or until ctx ends, and all that it has started with it. The error is for the user: it
// has the end of what the command wrote to standard error.
func (c *Command) Run(ctx context.Context, f hookFacts) error {
	f = plain(f)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := c.filled(f)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = os.Environ()
	for name, value := range f {
		cmd.Env = append(cmd.Env, "CURTSY_EVENT_"+strings.ToUpper(name)+"="+value)
	}
	var said tail
	cmd.Stderr = &said
	procgroup.Together(cmd)
	cmd.WaitDelay = procgroup.Grace
	err := cmd.Run()
	if cmd.Process != nil {
		procgroup.EndAll(cmd)
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("it was ended: %w", context.Cause(ctx))
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("it was ended after %v", limit)
		}
	}
	if text := said.text(); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return fmt.Errorf("--%s %s: %w", c.flag, plainly.OneLine(c.args[0]), err)
}

// tail keeps the end of what is written.
type tail struct{ b []byte }

const mostTail = 500

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - mostTail; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) text() string {
	return plainly.OneLine(strings.Join(strings.Fields(strings.ToValidUTF8(string(t.b), "")), " "))
}

// An Alert is something that a person may want to look at.
type alert struct {
	Name    string // of its kind
	Host    string // that it is about; empty for none
	Message string
}

// The kinds of alerts, as docs/guides/deploy.md has them.
const (
	refused     = "refused"     // a host refuses to be crawled, or was retired
	unreachable = "unreachable" // a host fails again and again
	noRobots    = "robots"      // the robots.txt of a host is unavailable
	failing     = "failing"     // more than a quarter of the exchanges fail
	slowDown    = "slow-down"   // more than one in twenty exchanges is answered with 429
	stalled     = "stalled"     // nothing was asked for in half an hour
	disk        = "disk"        // the disk is nearly full
	trapped     = "trap"        // a trap rule has begun to drop URLs
	quarantine  = "quarantine"  // URLs were set aside: the process died with them
)

// The bounds of docs/deploy/alerts.yml.
const (
	span      = 30 * time.Minute // that rates are of
	leastSpan = 5 * time.Minute
	leastOf   = 20  // exchanges that a share is of
	leastDisk = 2e9 // bytes that are free

	again    = 30 * time.Minute // between two of one kind about one host, at least
	mostHour = 20               // alerts in an hour
)

// sample is a crawl at one instant.
type sample struct {
	at                       time.Time
	exchanges, failed, asked int64 // asked: to slow down
}

// alerts says what has begun to be wrong. It is not safe for concurrent use.
type alerts struct {
	samples []sample
	moved   time.Time // when the crawl last did something, or was not to
	last    int64     // exchanges then
	active  map[string]bool
	told    map[string]time.Time
	recent  []time.Time
	looked  bool
}

// Look takes in the state of a crawl with so many bytes free on its disk, of which zero is not known, and returns what is to be told: each condition once,
// and again only after it ended. What was so before the first look, but for the disk, is of an earlier run.
func (x *alerts) Look(now time.Time, s status.Status, free int64) (tell []alert) {
	first := !x.looked
	if x.looked = true; first {
		x.active, x.told = map[string]bool{}, map[string]time.Time{}
	}
	is := map[string]bool{}
	for _, a := range x.conditions(now, s, free) {
		key := a.Name + " " + a.Host
		if a.Name == trapped {
			key += a.Message
		}
		is[key] = true
		if x.active[key] || first && a.Name != disk {
			continue
		}
		if last, ok := x.told[key]; ok && now.Sub(last) < again || !x.mayTell(now) {
			delete(is, key) // later, if it lasts
			continue
		}
		x.told[key] = now
		tell = append(tell, a)
	}
	x.active = is
	maps.DeleteFunc(x.told, func(_ string, at time.Time) bool { return now.Sub(at) > again })
	return tell
}

// mayTell takes one of the alerts of an hour.
func (x *alerts) mayTell(now time.Time) bool {
	x.recent = slices.DeleteFunc(x.recent, func(at time.Time) bool { return now.Sub(at) >= time.Hour })
	if len(x.recent) >= mostHour {
		return false
	}
	x.recent = append(x.recent, now)
	return true
}

// conditions are all that is wrong.
func (x *alerts) conditions(now time.Time, s status.Status, free int64) (all []alert) {
	add := func(name, host, format string, args ...any) {
		all = append(all, alert{name, host, fmt.Sprintf(format, args...)})
	}
	for _, r := range s.Resting {
		switch why := plainly.Reason(r.Reason); {
		case strings.HasPrefix(r.Reason, "robots"):
			add(noRobots, r.Host, "The robots.txt of %s is unavailable: %s.", r.Host, why)
		case r.Condition == "refused" || r.Condition == "retired" && strings.HasPrefix(r.Reason, "status 4"):
			add(refused, r.Host, "Given up: %s (%s).", r.Host, why)
		case r.Condition == "retired" && s.Failures[r.Reason] > 0, r.Condition == "parked" && s.Failures[r.Reason] > 0:
			add(unreachable, r.Host, "No usable response from %s: %s.", r.Host, why)
		}
	}
	x.rates(now, s, add)
	if left := s.Queued + s.Deferred; s.State != "running" || left == 0 || s.Exchanges != x.last || x.moved.IsZero() {
		x.moved, x.last = now, s.Exchanges
	} else if now.Sub(x.moved) >= span {
		add(stalled, "", "The crawl has made no request for half an hour, with %s left.", plainly.Count(left, "URL"))
	}
	if free > 0 && free < leastDisk {
		add(disk, "", "The disk of the crawl is nearly full: %s are free.", plainly.ExactSize(free))
	}
	for reason := range s.Reasons["dropped"] {
		if strings.HasPrefix(reason, "trap:") {
			add(trapped, "", "URLs are dropped by the rule %s: a part of a site seems to have no end.", reason)
		}
	}
	if s.Quarantined > 0 {
		add(quarantine, "", "URLs are set aside, since the process died with them.")
	}
	return all
}

// rates are what of the exchanges of late failed, or was answered with 429.
func (x *alerts) rates(now time.Time, s status.Status, add func(name, host, format string, args ...any)) {
	is := sample{at: now, exchanges: s.Exchanges, asked: s.Failures["429"]}
	for _, n := range s.Failures {
		is.failed += n
	}
	x.samples = append(x.samples, is)
	x.samples = slices.DeleteFunc(x.samples, func(o sample) bool { return now.Sub(o.at) > span })
	was := x.samples[0]
	if made := is.exchanges - was.exchanges; now.Sub(was.at) >= leastSpan && made >= leastOf {
		if failed := is.failed - was.failed; failed*4 > made {
			add(failing, "", "More than a quarter of the requests fail: %d of %d.", failed, made)
		}
		if asked := is.asked - was.asked; asked*20 > made {
			add(slowDown, "", "More than one in twenty requests is answered with 429 Too Many Requests: %d of %d.", asked, made)
		}
	}
}

// lookEvery is the time between two looks.
const lookEvery = 10 * time.Second

// follow tells of what goes wrong with a crawl until ctx ends. tell may take its time: it is called for one alert after the
// other.
func follow(ctx context.Context, look func(context.Context) (status.Status, error), free func() int64, tell func(alert, status.Status)) {
	var x alerts
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	for {
		if s, err := look(ctx); err == nil {
			for _, a := range x.Look(time.Now(), s, free()) {
				if ctx.Err() != nil {
					return
				}
				tell(a, s)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-looks.C:
		}
	}
}
