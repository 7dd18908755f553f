package crawlcmd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/fetch/webbotauth"
	"curtsy/crawler/policypage"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/storage/plainly"
)

type initing struct {
	settings crawldir.Settings // with the contact that requests carry
	kept     kept
	ranges   string // of kept, as the user answers
	dir      string
}

func newInit(std cli.Streams) *cobra.Command {
	var in, flags initing
	var ranges []string
	cmd := cli.Command("identity init")
	fs := cmd.Flags()
	config.Some(&flags.settings, fs, config.Identity...)
	fs.Lookup("agent").DefValue = "" // it is the kept answer, if there is one
	fs.StringVar(&flags.kept.Retention, "retention", "", "`TEXT` how long data are kept, and who sees them")
	fs.StringVar(&flags.kept.URL, "url", "", "`URL` address where you will publish the page")
	fs.StringSliceVar(&ranges, "range", nil, "`CIDR` network that requests come from; repeatable; none if it changes")
	cli.Group(fs, "Page")
	fs.StringVar(&in.dir, "dir", "crawler-page", "`FOLDER` folder for the files")
	cli.Group(fs, "Output")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		flags.ranges, flags.kept.Contact = strings.Join(ranges, " "), flags.settings.Contact
		return in.run(&flags, cmd.Flags(), std)
	}
	return cmd
}

func (in *initing) run(flags *initing, fs *pflag.FlagSet, std cli.Streams) error {
	if in.dir == "" {
		return cli.Usagef("--dir: name a folder")
	}
	user, err := in.defaults()
	if err != nil {
		return err
	}
	given := fs.Changed
	if err := in.take(flags, given); err != nil {
		return err
	}
	if f, ok := std.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if err := in.ask(std.In, std.Err, given); err != nil {
			return err
		}
	}
	if err := in.check(given); err != nil {
		return err
	}
	in.kept.Ranges = strings.Fields(in.ranges)
	if in.kept.URL != "" && in.kept.Contact == in.kept.URL {
		return cli.Usagef("--contact and --url: the page needs a contact beside itself: a mailbox, or another page")
	}
	// Requests that carry the page's address keep it; others carry the contact on the page.
	if in.settings.Contact != in.kept.URL || in.settings.Contact == "" {
		in.settings.Contact = in.kept.Contact
	}
	return in.write(user, std)
}

// defaults fills in earlier answers and settings. user are the values of the configuration file.
func (in *initing) defaults() (user map[string]any, err error) {
	s, err := config.New()
	if err != nil {
		return nil, err
	}
	in.settings = *s
	if in.kept, err = readKept(); err != nil {
		return nil, err
	}
	contact := in.settings.Identity().Contact
	in.settings.Contact = contact
	switch isURL := strings.Contains(contact, "://"); {
	case in.kept.URL == "" && isURL && policypage.PageURL(contact) == nil:
		in.kept.URL = contact
	case in.kept.Contact == "" && !isURL:
		in.kept.Contact = contact
	}
	in.ranges = strings.Join(in.kept.Ranges, " ")
	path, err := crawldir.UserConfig()
	if err != nil {
		return nil, err
	}
	l, err := config.ReadLayer(path, true)
	return l.Values, err
}

// take replaces answers by flags. An empty flag clears an optional answer.
func (in *initing) take(flags *initing, given func(flag string) bool) error {
	from := flags.questions()
	for i, q := range in.questions() {
		if !given(q.flag) {
			continue
		}
		if *q.to = *from[i].to; *q.to == "" && !q.optional {
			_, err := q.check("")
			return cli.Usagef("--%s: %w", q.flag, err)
		}
	}
	return nil
}

func (in *initing) write(user map[string]any, std cli.Streams) error {
	s, err := in.kept.statement(&in.settings, true)
	if err != nil {
		return err
	}
	s.Made = time.Now()
	written, err := in.documents(&s)
	if err != nil {
		return err
	}
	changed := map[string]string{}
	for name, value := range map[string]string{
		"agent": s.Token, "operator": s.Operator, "purpose": s.Purpose, "contact": in.settings.Contact,
	} {
		if v, ok := user[name]; v != value && (ok || name != "agent" || value != crawldir.Defaults().Agent) {
			changed[name] = value
		}
	}
	if len(changed) > 0 {
		path, err := crawldir.UserConfig()
		if err != nil {
			return err
		}
		if err := setKeys(path, changed); err != nil {
			return err
		}
	}
	if err := in.kept.keep(); err != nil {
		return err
	}
	for _, path := range written {
		fmt.Fprintln(std.Out, plainly.OneLine(path))
	}
	in.advise(&s, std.Err)
	return nil
}

// documents writes the three files, the page last, or none if one of them may not be written.
func (in *initing) documents(s *policypage.Statement) (written []string, err error) {
	page := userfile.Kind{Name: "a page", Mark: policypage.PageMark}
	document := userfile.Kind{Name: "a document", Mark: policypage.Mark}
	files := []struct {
		name string
		kind userfile.Kind
		make func() ([]byte, error)
		text []byte
	}{
		{name: policypage.RangesName, kind: document, make: s.RangesJSON},
		{name: policypage.CardName, kind: document, make: s.CardJSON},
		{name: s.PageName(), kind: page, make: s.Page},
	}
	for i := range files {
		f := &files[i]
		if err := cli.MayWrite("--dir", filepath.Join(in.dir, f.name), f.kind); err != nil {
			return nil, err
		}
		if f.text, err = f.make(); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(in.dir, s.PageName())
	before, err := userfile.ReadAll(path, policypage.MaxDocument)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case len(before) > 0 && policypage.Edited(before):
		return nil, cli.Usagef("%s was changed by hand since curtsy wrote it: name another --dir, or remove it first", path)
	}
	if err := os.MkdirAll(in.dir, 0o777); err != nil {
		return nil, fmt.Errorf("--dir: %w", err)
	}
	for _, f := range files {
		path := filepath.Join(in.dir, f.name)
		err := durable.Output(path, func(w io.Writer) error { _, err := w.Write(f.text); return err })
		if err != nil {
			return nil, err
		}
		written = append(written, path)
	}
	return written, nil
}

func (in *initing) advise(s *policypage.Statement, to io.Writer) {
	printLine := func(format string, args ...any) { fmt.Fprintln(to, plainly.Lines(fmt.Sprintf(format, args...))) }
	if s.URL == "" {
		printLine("publish the files side by side; once you know the\nURL, set it with --url, so that the documents link to each other")
		return
	}
	printLine("publish the files side by side, the page at\n  %s\nthen see whether it is right:\n  curtsy identity check %s", s.URL, plainly.Argument(s.URL))
	if in.settings.Contact != s.URL {
		printLine("requests carry %s; when the page is there, they can lead to it:\n  curtsy identity set --contact %s", in.settings.Contact, plainly.Argument(s.URL))
	}
}

// A question is one that identity init asks, unless its flag is given.
type question struct {
	flag     string
	text     string
	to       *string
	optional bool
	check    func(string) (string, error) // returns the answer to keep
}

func (in *initing) questions() []question {
	phrase := func(most int) func(string) (string, error) {
		return func(s string) (string, error) { return s, policypage.Text(s, most) }
	}
	token := func(s string) (string, error) { return s, (&crawldir.Settings{Agent: s}).Identity().Validate() }
	return []question{
		{"operator", "Who runs the crawls? A person, a group, an institution", &in.settings.Operator, false, phrase(policypage.MaxOperator)},
		{"purpose", "What do you crawl for? One or two sentences", &in.settings.Purpose, false, phrase(policypage.MaxPurpose)},
		{"contact", "How do site owners reach you? A mailbox, or the URL of a form", &in.kept.Contact, false, checkContact},
		{"retention", "How long do you keep the data, and who can see it?", &in.kept.Retention, false, phrase(policypage.MaxRetention)},
		{"agent", "Your name in robots.txt? Letters, - and _", &in.settings.Agent, false, token},
		{"url", "At which URL will you publish the page? Leave empty if unknown", &in.kept.URL, true, checkURL},
		{"range", "From which networks do requests come? Leave empty if they change", &in.ranges, true, checkRanges},
	}
}

// checkContact accepts a contact that a webmaster could reach.
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

// none is the answer that clears the kept ranges.
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

// check checks the answers of flags and settings, and reports questions without an answer.
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

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 64 << 10

// ask asks the questions that no flag answers. An empty line keeps the earlier answer.
func (in *initing) ask(from io.Reader, to io.Writer, given func(flag string) bool) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxAnswer)
	for _, q := range slices.DeleteFunc(in.questions(), func(q question) bool { return given(q.flag) }) {
		for {
			before := ""
			if *q.to != "" {
				before = "\n  Enter for: " + plainly.OneLine(*q.to)
			}
			fmt.Fprint(to, text.Wrap(q.text+before), "\n> ")
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

// kept are the answers that are not settings of a crawl. identity init keeps them beside the configuration file.
type kept struct {
	URL       string   `toml:"url"`     // of the page
	Contact   string   `toml:"contact"` // on the page
	Retention string   `toml:"retention"`
	Ranges    []string `toml:"ranges"`

	there bool // the file exists
}

const (
	keptName = "identity.toml"
	keptHead = "# Written by curtsy identity init; curtsy identity check compares it with the published page.\n"
	maxKept  = 1 << 20
)

func keptPath() (string, error) {
	config, err := crawldir.UserConfig()
	return filepath.Join(filepath.Dir(config), keptName), err
}

// readKept reads the kept answers; they are zero without a file.
func readKept() (k kept, err error) {
	path, err := keptPath()
	if err != nil {
		return k, err
	}
	b, err := userfile.ReadAll(path, maxKept)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return k, err
	}
	d := toml.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&k); err != nil {
		return kept{}, cli.Usagef("%s cannot be read: %s; fix it, or delete it and answer again", path, tomlTrouble(err))
	}
	if k.there = true; k.URL != "" && policypage.PageURL(k.URL) != nil {
		return kept{}, cli.Usagef("%s: url %q: %w", path, k.URL, policypage.PageURL(k.URL))
	}
	if _, err := k.prefixes(); err != nil {
		return kept{}, cli.Usagef("%s: %w", path, err)
	}
	return k, nil
}

// tomlTrouble returns the place of an error in a TOML file.
func tomlTrouble(err error) string {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		row, _ := strict.Errors[0].Position()
		return fmt.Sprintf("line %d has an unknown key", row)
	}
	var syntax *toml.DecodeError
	if errors.As(err, &syntax) {
		row, column := syntax.Position()
		return fmt.Sprintf("line %d, column %d", row, column)
	}
	return err.Error()
}

func (k *kept) prefixes() ([]netip.Prefix, error) {
	var ps []netip.Prefix
	for _, text := range k.Ranges {
		p, err := policypage.ParseRange(text)
		if err != nil {
			return nil, fmt.Errorf("ranges: %w", err)
		}
		ps = append(ps, p)
	}
	if len(ps) > policypage.MaxRanges {
		return nil, fmt.Errorf("ranges: %d are more than %d", len(ps), policypage.MaxRanges)
	}
	return policypage.SortRanges(ps), nil
}

func (k *kept) keep() error {
	path, err := keptPath()
	if err != nil {
		return err
	}
	b, err := toml.Marshal(k)
	if err != nil {
		return err
	}
	return writeConfiguration(path, append([]byte(keptHead), b...))
}

// statement returns the statement of the page, without its time. With makeKey it makes the ledger key if it is missing; a
// check makes none.
func (k *kept) statement(s *crawldir.Settings, makeKey bool) (policypage.Statement, error) {
	ranges, err := k.prefixes()
	if err != nil {
		return policypage.Statement{}, err
	}
	p := policypage.Statement{
		Token: s.Agent, UserAgent: s.Identity().UserAgent(), Operator: s.Operator, Purpose: s.Purpose,
		Contact: k.Contact, Retention: k.Retention, Ranges: ranges, URL: k.URL,
	}
	if s.SignatureAgent != "" {
		agent, err := webbotauth.ParseAgent(s.SignatureAgent)
		if err != nil {
			return p, cli.Usagef("signature-agent: %w", err)
		}
		p.Directory = agent.URL()
	}
	signer, led, err := crawldir.LedgerSigner(makeKey)
	if signer == nil {
		return p, err
	}
	p.Key = signer.VerifierKey()
	for _, r := range led {
		p.Earlier = append(p.Earlier, policypage.EarlierKey{Key: r.Old.String(), Until: r.At})
	}
	return p, err
}
