package crawlcmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/policypage"
	"curtsy/frontier/canon"
	"curtsy/storage/plainly"
)

// A question is one that init asks. Its flag answers it, too.
type question struct {
	flag     string
	asks     string
	to       *string
	optional bool
	check    func(string) (string, error) // returns the answer as it is kept
}

// questions are all of them, in their order.
func (in *initing) questions() []question {
	phrase := func(most int) func(string) (string, error) {
		return func(s string) (string, error) { return s, policypage.Text(s, most) }
	}
	return []question{
		{"operator", "Who runs the crawls? A person, a group, an institution", &in.settings.Operator, false, phrase(policypage.MaxOperator)},
		{"purpose", "What do you crawl for? One or two sentences", &in.settings.Purpose, false, phrase(policypage.MaxPurpose)},
		{"contact", "How do site owners reach you? A mailbox, or the URL of a form", &in.kept.Contact, false, checkContact},
		{"retention", "How long do you keep the data, and who can see it?", &in.kept.Retention, false, phrase(policypage.MaxRetention)},
		{"agent", "Your name in robots.txt? Letters, - and _", &in.settings.Agent, false, checkToken},
		{"url", "At which URL will you publish the page? Leave empty if unknown", &in.kept.URL, true, checkURL},
		{"range", "From which networks do requests come? Leave empty if they change", &in.ranges, true, checkRanges},
	}
}

func checkToken(s string) (string, error) {
	return s, (&crawldir.Settings{Agent: s}).Identity().Validate()
}

// checkContact takes what a webmaster could write to.
func checkContact(s string) (string, error) {
	id := (&crawldir.Settings{Agent: crawldir.Defaults().Agent, Contact: s}).Identity()
	if err := id.Validate(); err != nil {
		return "", err
	}
	return id.Contact, id.CheckContact()
}

func checkURL(s string) (string, error) {
	if err := policypage.PageURL(s); err != nil {
		return "", err
	}
	u, err := canon.Parse(s)
	return u.String(), err
}

// none is how a list of ranges that was kept is made an empty one.
const none = "none"

func checkRanges(s string) (string, error) {
	if s == none {
		return "", nil
	}
	k := kept{Ranges: strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' })}
	ps, err := k.prefixes()
	var all []string
	for _, p := range ps {
		all = append(all, p.String())
	}
	return strings.Join(all, " "), err
}

// isTerminal reports whether somebody sits there who can be asked.
func isTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// check holds what flags and settings answer against what the questions allow, and names what has no answer.
func (in *initing) check(given func(flag string) bool) error {
	var missing []string
	for _, q := range in.questions() {
		if *q.to == "" && (q.optional || !given(q.flag)) {
			if !q.optional {
				missing = append(missing, "--"+q.flag)
			}
			continue
		}
		answer, err := q.check(*q.to)
		if err != nil {
			return cli.Usagef("--%s: %w", q.flag, err)
		}
		*q.to = answer
	}
	if len(missing) > 0 {
		return cli.Usagef("no answer to %s: give them as flags, or run it in a terminal", strings.Join(missing, ", "))
	}
	return nil
}

// maxAnswer is the longest line that is read as an answer.
const maxAnswer = 64 << 10

// ask asks those questions on a terminal that no flag answered. An empty line keeps what was answered before.
func (in *initing) ask(from io.Reader, to io.Writer, given func(flag string) bool) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxAnswer)
	for _, q := range slices.DeleteFunc(in.questions(), func(q question) bool { return given(q.flag) }) {
		for {
			before := ""
			if *q.to != "" {
				before = "\n  Enter for: " + plainly.OneLine(*q.to)
			}
			fmt.Fprint(to, text.Wrap(q.asks+before), "\n> ")
			if !lines.Scan() {
				fmt.Fprintln(to)
				if errors.Is(lines.Err(), bufio.ErrTooLong) {
					return cli.Usagef("an answer has more than %s: nothing was written", plainly.ExactSize(maxAnswer))
				}
				return errors.Join(fmt.Errorf("the answers ended before --%s: nothing was written", q.flag), lines.Err())
			}
			answer := strings.TrimSpace(lines.Text())
			if answer == "" {
				answer = *q.to
			}
			if answer == "" && q.optional {
				break
			}
			kept, err := q.check(answer)
			if err == nil {
				*q.to = kept
				break
			}
			fmt.Fprintln(to, plainly.Lines(text.Wrap("  That will not do: "+plainly.Error(err))))
		}
	}
	return nil
}
