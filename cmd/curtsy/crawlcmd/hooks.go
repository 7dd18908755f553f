package crawlcmd

import (
	"context"
	"errors"
	"fmt"
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
	"curtsy/storage/plainly"
)

// hooks is the command that runs at the end. It is no setting of a crawl: a received directory must not run anything.
type hooks struct {
	onEnd string // as it is given
	end   Command

	summary *crawler.Summary // of the run; nil when there was none
}

func (h *hooks) flags(fs *pflag.FlagSet) {
	fs.StringVar(&h.onEnd, "on-end", "", "`COMMAND` run when the crawl has ended for any reason, without a\nshell; {dir}, {state}, {exit}, {message} and others are replaced")
}

// check reads the command, and finds its program.
func (h *hooks) check() (err error) {
	if h.onEnd != "" {
		h.end, err = parse(h.onEnd)
	}
	return err
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

// A Command is a program with its arguments, which have names in braces for facts.
type Command []string

// hookFacts are what a command is told, by name. They are in its environment, too.
type hookFacts map[string]string

// factNames are the names of facts.
var factNames = []string{"dir", "state", "exit", "ended_by", "pages", "failed", "left", "message"}

// place is where a fact is put.
var place = regexp.MustCompile(`\{([a-z_]+)\}`)

// parse reads a command, which may use facts by their names, and finds its program.
func parse(text string) (Command, error) {
	args, err := split(text)
	if err != nil {
		return nil, cli.Usagef("--on-end %q: %w", text, err)
	}
	if len(args) == 0 || args[0] == "" {
		return nil, cli.Usagef("--on-end is empty: name a command")
	}
	if place.MatchString(args[0]) {
		return nil, cli.Usagef("--on-end %q: the command itself is fixed; facts like %s are for its arguments", text, place.FindString(args[0]))
	}
	for _, a := range args[1:] {
		for _, m := range place.FindAllStringSubmatch(a, -1) {
			if slices.Contains(factNames, m[1]) {
				continue
			}
			hint := "; there are {" + strings.Join(factNames, "}, {") + "}"
			if near := plainly.Nearest(m[1], factNames); near != "" {
				hint = "; did you mean {" + near + "}?"
			}
			return nil, cli.Usagef("--on-end %q: unknown %s%s", text, m[0], hint)
		}
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return nil, cli.Usagef("--on-end: no command %s can be run: %w", args[0], errors.Unwrap(err))
	}
	args[0] = path
	return Command(args), nil
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
func (c Command) filled(f hookFacts) []string {
	args := []string{c[0]}
	for _, a := range c[1:] {
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
func (c Command) Run(ctx context.Context, f hookFacts) error {
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
	return fmt.Errorf("--on-end %s: %w", plainly.OneLine(c[0]), err)
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
