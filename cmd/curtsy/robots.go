package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/inquiry"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage/plainly"
)

// maxFile bounds a robots.txt file, in bytes. Beyond robots.MaxBody it is not parsed.
const maxFile = 64 << 20

func readFile(path string, std cli.Streams) ([]byte, error) {
	in := std.In
	if path != "-" {
		f, err := userfile.Open(path)
		if err != nil {
			return nil, cli.Absent(fmt.Errorf("robots.txt: %w", err))
		}
		defer f.Close()
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("robots.txt: %w", err)
	}
	if len(body) > maxFile {
		return nil, fmt.Errorf("robots.txt: %s is larger than %s", path, plainly.ExactSize(maxFile))
	}
	return body, nil
}

// jsonLines encodes "&" and "<" as they are.
func jsonLines(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

func newLint(std cli.Streams) *cobra.Command {
	cmd := cli.Command("robots lint")
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		body, err := readFile(args[0], std)
		if err != nil {
			return err
		}
		warnings := robots.ParseAll(body).Warnings
		w := bufio.NewWriter(std.Out)
		for _, x := range warnings {
			fmt.Fprintf(w, "%s:%d:%d: %s (%s)\n", plainly.Lines(args[0]), x.Line, x.Column, text.Cell(x.Text), x.Code)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		if len(warnings) > 0 {
			return cli.Silent(cli.ExitFound)
		}
		return nil
	}
	return cmd
}

func newDiff(std cli.Streams) *cobra.Command {
	var by robots.Standard
	cmd := cli.Command("robots diff", cli.Flags{"robots-standard": crawldir.Standard(&by)})
	cmd.Args = cobra.MinimumNArgs(2)
	cli.Words(cmd.Flags(), "robots-standard", config.Standards()...)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		var urls []canon.URL
		for _, a := range args[2:] {
			u, err := cli.URL(a)
			if err != nil {
				return err
			}
			urls = append(urls, u)
		}
		if args[0] == "-" && args[1] == "-" {
			return cli.Usagef("only one of the files can be standard input")
		}
		older, err := readFile(args[0], std)
		if err != nil {
			return err
		}
		newer, err := readFile(args[1], std)
		if err != nil {
			return err
		}
		w := bufio.NewWriter(std.Out)
		differ := diff(w, older, newer, by, urls)
		if err := w.Flush(); err != nil || !differ {
			return err
		}
		return cli.Silent(cli.ExitFound)
	}
	return cmd
}

// diff writes the differences of two robots.txt files, and reports whether there are any.
func diff(w io.Writer, older, newer []byte, s robots.Standard, urls []canon.URL) (differ bool) {
	say := func(name string, changes []string) {
		differ = true
		fmt.Fprintln(w, name)
		for _, line := range changes {
			fmt.Fprintln(w, "  "+text.Cell(line))
		}
	}
	before, after := namedAgents(older), namedAgents(newer)
	both := maps.Clone(before)
	maps.Copy(both, after)
	everyone := []string{""} // a token that no group names: the group * applies
	for _, token := range append(everyone, slices.Sorted(maps.Keys(both))...) {
		o := robots.Options{Token: token, Standard: s}
		p, q := robots.Parse(older, o), robots.Parse(newer, o)
		changes := changed(saidLines(p), saidLines(q), s)
		for _, u := range urls {
			was, is := newOpinion(p.Match(u.RequestURI()), s), newOpinion(q.Match(u.RequestURI()), s)
			if was.Allow == is.Allow {
				continue
			}
			because := is.Reason
			if is.Line != 0 {
				because = fmt.Sprintf("line %d: %s", is.Line, is.Rule)
			}
			changes = append(changes, fmt.Sprintf("%s: %s, now %s (%s)", u, was.verdict(), is.verdict(), because))
		}
		switch {
		case after[token] && !before[token]:
			say(token+" (named now; bound by * before)", changes)
		case before[token] && !after[token]:
			say(token+" (named no more; bound by * now)", changes)
		case len(changes) > 0:
			say(cmp.Or(token, "*"), changes)
		}
	}
	of := func(body []byte) []string { return robots.Parse(body, robots.Options{}).Sitemaps() }
	if changes := changed(of(older), of(newer), robots.RFC9309); len(changes) > 0 {
		say("sitemaps", changes)
	}
	return differ
}

func namedAgents(body []byte) map[string]bool {
	named := map[string]bool{}
	for _, g := range robots.ParseAll(body).Groups {
		for _, a := range g.Agents {
			end := strings.IndexFunc(a.Value, func(r rune) bool { return robots.ValidToken(string(r)) != nil })
			if end < 0 {
				end = len(a.Value)
			}
			if end > 0 {
				named[strings.ToLower(a.Value[:end])] = true
			}
		}
	}
	return named
}

// saidLines returns the rules and delays of a policy.
func saidLines(p *robots.Policy) (lines []string) {
	for line := range strings.Lines(p.String()) {
		if !strings.HasPrefix(line, "user-agent:") && !strings.HasPrefix(line, "sitemap:") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// changed returns the lines that go and those that come. Only the 1996 draft depends on their order.
func changed(before, after []string, s robots.Standard) (changes []string) {
	missing := func(sign string, from, in []string) {
		has := map[string]bool{}
		for _, line := range in {
			has[line] = true
		}
		for _, line := range from {
			if !has[line] {
				has[line] = true // report it once
				changes = append(changes, sign+line)
			}
		}
	}
	missing("- ", before, after)
	missing("+ ", after, before)
	if len(changes) == 0 && s == robots.Draft1996 && !slices.Equal(before, after) {
		changes = append(changes, "the same rules in another order")
	}
	return changes
}

// maxQuestion bounds a line of a batch, in bytes.
const maxQuestion = 16 << 20

// question is a line of a batch. Unknown members are ignored: they may serve the program that wrote them.
type question struct {
	ID        json.RawMessage `json:"id"` // any value; comes back with the answer
	Standard  string          `json:"standard"`
	RobotsTxt *string         `json:"robots_txt"`
	RobotsB64 *string         `json:"robots_b64"` // the same in base64, for bytes that are not UTF-8
	Agent     string          `json:"agent"`
	URL       string          `json:"url"`
}

type batchAnswer struct {
	ID       json.RawMessage `json:"id"`
	Allow    bool            `json:"allow"`
	Reason   string          `json:"reason"`
	Line     int             `json:"line"` // 0 when no rule decides
	Rule     string          `json:"rule"`
	DelayS   *float64        `json:"delay_s"` // null without a delay
	Sitemaps []string        `json:"sitemaps"`
}

type refusal struct {
	ID    json.RawMessage `json:"id"`
	Error string          `json:"error"`
}

// batch answers each line before it waits for the next. preset holds the values that a line omits.
func batch(in io.Reader, out io.Writer, preset question) error {
	r := bufio.NewReaderSize(in, 64<<10)
	w := bufio.NewWriter(out)
	enc := jsonLines(w)
	for {
		line, long, err := readQuestion(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return errors.Join(fmt.Errorf("standard input: %w", err), w.Flush())
		}
		last := err != nil
		switch {
		case long:
			err = enc.Encode(refusal{json.RawMessage("null"), fmt.Sprintf("the line is longer than %s", plainly.ExactSize(maxQuestion))})
		case len(bytes.TrimSpace(line)) > 0:
			err = enc.Encode(reply(line, preset))
		default:
			err = nil
		}
		if err == nil && (last || r.Buffered() == 0) {
			err = w.Flush()
		}
		if err != nil || last {
			return err
		}
	}
}

// readQuestion reads a line. It drops the bytes of one that is too long.
func readQuestion(r *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxQuestion; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// reply returns a batchAnswer or a refusal.
func reply(line []byte, preset question) any {
	q := preset
	err := json.Unmarshal(line, &q)
	if q.ID == nil {
		q.ID = json.RawMessage("null")
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		err = fmt.Errorf("%s: unexpected %s", cmp.Or(wrong.Field, "the line"), wrong.Value)
	}
	if err != nil {
		return refusal{q.ID, "no question: " + err.Error()}
	}
	a, err := q.answer()
	if err != nil {
		return refusal{q.ID, err.Error()}
	}
	return a
}

func (q question) answer() (batchAnswer, error) {
	body, err := q.body()
	if err != nil {
		return batchAnswer{}, err
	}
	standard, err := robots.ParseStandard(cmp.Or(q.Standard, robots.RFC9309.String()))
	if err != nil {
		return batchAnswer{}, fmt.Errorf("standard: %w", err)
	}
	if err := robots.ValidToken(q.Agent); err != nil {
		return batchAnswer{}, fmt.Errorf("agent: %w", err)
	}
	u, target, err := readTarget(q.URL)
	if err != nil {
		return batchAnswer{}, fmt.Errorf("url: %w", err)
	}
	p := robots.Parse(body, robots.Options{Token: q.Agent, Standard: standard})
	o := newOpinion(p.Match(target), standard)
	o.setDelay(p)
	a := batchAnswer{ID: q.ID, Allow: o.Allow, Reason: o.Reason, Line: o.Line, Rule: o.Rule, DelayS: o.DelayS}
	a.Sitemaps = append([]string{}, p.ResolveSitemaps(u.Authority().Scheme()+"://"+u.Authority().HostPort()+"/robots.txt")...)
	return a, nil
}

// readTarget returns the URL that the crawler would request for raw, and the target on its request line. A URL too long to
// request can still be judged: its target is as written, and u is only its site.
func readTarget(raw string) (u canon.URL, target string, err error) {
	if u, err = canon.Parse(raw); canon.ReasonOf(err) != canon.TooLong {
		return u, u.RequestURI(), err
	}
	_, rest, _ := strings.Cut(raw, "://")
	i := strings.IndexAny(rest, "/?#")
	if i < 0 {
		return u, "", err // the host is too long
	}
	u, err = canon.Parse(strings.TrimSuffix(raw, rest[i:]))
	return u, rest[i:], err
}

func (q question) body() ([]byte, error) {
	switch {
	case q.RobotsTxt != nil && q.RobotsB64 != nil:
		return nil, errors.New("robots_txt and robots_b64: use only one of them")
	case q.RobotsTxt != nil:
		return []byte(*q.RobotsTxt), nil
	case q.RobotsB64 == nil:
		return nil, errors.New("neither robots_txt nor robots_b64")
	}
	body, err := base64.StdEncoding.DecodeString(*q.RobotsB64)
	if err != nil {
		return nil, fmt.Errorf("robots_b64: %w", err)
	}
	return body, nil
}

type check struct {
	settings      crawldir.Settings // of the crawler that fetches a robots.txt
	own           *pflag.FlagSet    // the flags of settings
	token         string            // to judge; "" for settings.agent
	file, url     string            // source of the robots.txt; "" for each URL's host
	standard      robots.Standard
	everyStandard bool
	config        string
	json, batch   bool
}

func newCheck(std cli.Streams) *cobra.Command {
	var c check
	cmd := cli.Command("robots check", cli.Flags{
		"file": &c.file, "url": &c.url, "agent": &c.token, "robots-standard": crawldir.Standard(&c.standard), "all-standards": &c.everyStandard,
		"json": &c.json, "batch": &c.batch,
	})
	cmd.Args = cobra.ArbitraryArgs
	fs := cmd.Flags()
	fs.SortFlags = false
	cli.Words(fs, "robots-standard", config.Standards()...)
	cli.Often(fs, "file", "url", "agent")
	c.own = config.Some(&c.settings, fs, config.Asking...)
	cli.Often(fs, "contact")
	fs.StringVar(&c.config, "config", "", "`FILE` settings file (TOML)")
	cli.Group(fs, "Asking the host")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args, std) }
	return cmd
}

func (c *check) run(ctx context.Context, args []string, std cli.Streams) error {
	if err := config.Resolve(&c.settings, c.own, c.config, ""); err != nil {
		return err
	}
	if c.token == "" {
		c.token = c.settings.Agent
	}
	if err := robots.ValidToken(c.token); err != nil {
		return cli.Usagef("--agent: %w", err)
	}
	standards := []robots.Standard{c.standard}
	if c.everyStandard {
		standards = robots.Standards()
	}
	switch {
	case c.file != "" && c.url != "":
		return cli.Usagef("--file and --url: use only one of them")
	case c.batch && (len(args) > 0 || c.file != "" || c.url != "" || c.everyStandard):
		return cli.Usagef("--batch takes everything from standard input: no URL, --file, --url or --all-standards beside it")
	case c.batch:
		return batch(std.In, std.Out, question{Agent: c.token, Standard: c.standard.String()})
	case len(args) == 0:
		return cli.Usagef("no URL to judge; see curtsy robots check --help")
	}
	urls := make([]canon.URL, len(args))
	for i, a := range args {
		u, err := cli.URL(a)
		if fi, statErr := os.Stat(a); err != nil && statErr == nil && fi.Mode().IsRegular() {
			return cli.Usagef("%[1]s is a file: to check URLs against it, give --file %[1]s URL…", plainly.Argument(a))
		}
		if err != nil {
			return err
		}
		urls[i] = u
	}
	from, done, err := c.source(urls, std)
	if err != nil {
		return err
	}
	defer done()
	return c.judge(ctx, from, urls, standards, std)
}

// judge prints the verdict on each URL, and sums them up in the exit code.
func (c *check) judge(ctx context.Context, from source, urls []canon.URL, standards []robots.Standard, std cli.Streams) error {
	var all []judgement
	code := cli.ExitDone
	printed := map[string]bool{}
	say := func(line string) {
		if !printed[line] {
			printed[line] = true
			fmt.Fprintln(std.Err, plainly.Lines(line))
		}
	}
	for _, u := range urls {
		j := judgement{URL: u.String(), Agent: c.token}
		for _, s := range standards {
			had, err := from(ctx, u, s)
			if err != nil {
				return err
			}
			j.Robots = had.From
			o := newOpinion(had.Verdict, s)
			if had.Body != nil {
				j.SHA256 = hex.EncodeToString(had.Digest[:])
				p := robots.Parse(had.Body, robots.Options{Token: c.token, Standard: s})
				o = newOpinion(p.Match(u.RequestURI()), s)
				o.setDelay(p)
			}
			j.Verdicts = append(j.Verdicts, o)
			if most := max(c.settings.MaxCrawlDelay, crawler.Floor); o.DelayS != nil && *o.DelayS > most.Seconds() {
				say(fmt.Sprintf("curtsy: %s requires a delay longer than --max-crawl-delay %v: a crawl skips this host", had.From, plainly.Duration(most)))
			}
			switch {
			case o.Reason == string(robots.Unreachable):
				code = cli.ExitFailed
				say(fmt.Sprintf("curtsy: %s is unavailable: %s; nothing may be fetched", had.From, plainly.Reason(had.Failure)))
			case !o.Allow && code == cli.ExitDone:
				code = cli.ExitFound
			}
		}
		if c.json {
			if err := jsonLines(std.Out).Encode(j); err != nil {
				return err
			}
			continue
		}
		all = append(all, j)
	}
	if err := c.print(all, std); err != nil || code == cli.ExitDone {
		return err
	}
	return cli.Silent(code)
}

// judgement has the verdicts on one URL, one for each standard.
type judgement struct {
	URL      string    `json:"url"`
	Agent    string    `json:"agent"`
	Robots   string    `json:"robots_txt"`       // its source
	SHA256   string    `json:"sha256,omitempty"` // of the file; none when no file decides
	Verdicts []opinion `json:"verdicts"`
}

// opinion is the verdict by one standard. Its fields have the names of batchAnswer.
type opinion struct {
	Standard string   `json:"standard"`
	Allow    bool     `json:"allow"`
	Reason   string   `json:"reason"`
	Line     int      `json:"line"` // 0 when no rule decides
	Rule     string   `json:"rule"`
	Group    string   `json:"group"`
	RunnerUp string   `json:"runner_up"`
	DelayS   *float64 `json:"delay_s"` // null without a delay
}

func newOpinion(v robots.Verdict, s robots.Standard) opinion {
	return opinion{
		Standard: s.String(), Allow: v.Allowed, Reason: string(v.Reason),
		Line: v.Line, Rule: v.Rule, Group: v.Group, RunnerUp: v.RunnerUp,
	}
}

func (o *opinion) setDelay(p *robots.Policy) {
	if d, ok := p.AskedDelay(); ok {
		seconds := d.Seconds()
		o.DelayS = &seconds
	}
}

func (o opinion) verdict() string {
	if o.Allow {
		return "allowed"
	}
	return "disallowed"
}

func (o opinion) line() string {
	if o.Line == 0 {
		return "-"
	}
	return strconv.Itoa(o.Line)
}

func (o opinion) delay() string {
	if o.DelayS == nil {
		return "-"
	}
	return time.Duration(*o.DelayS * float64(time.Second)).String()
}

// print writes a line for each judgement, or with several standards a table with a column for each.
func (c *check) print(all []judgement, std cli.Streams) error {
	if len(all) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	if !c.everyStandard {
		fmt.Fprintln(table, "VERDICT\tLINE\tRULE\tRUNNER-UP\tDELAY\tURL")
		for _, j := range all {
			o := j.Verdicts[0]
			rule := text.Cell(o.Rule)
			if o.Line == 0 {
				rule = "(" + o.Reason + ")"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", o.verdict(), o.line(), rule, text.Cell(o.RunnerUp), o.delay(), j.URL)
		}
		return table.Flush()
	}
	for i, j := range all {
		if i > 0 {
			fmt.Fprintln(table)
		}
		fmt.Fprintln(table, j.URL)
		row := func(name string, of func(opinion) string) {
			cells := []string{"  " + name}
			for _, o := range j.Verdicts {
				cells = append(cells, of(o))
			}
			fmt.Fprintln(table, strings.Join(cells, "\t"))
		}
		row("standard", func(o opinion) string { return o.Standard })
		row("verdict", opinion.verdict)
		row("reason", func(o opinion) string { return o.Reason })
		row("line", opinion.line)
		row("rule", func(o opinion) string { return text.Cell(o.Rule) })
		row("runner-up", func(o opinion) string { return text.Cell(o.RunnerUp) })
		row("group", func(o opinion) string { return text.Cell(o.Group) })
		row("delay", opinion.delay)
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// source returns the robots.txt by which to judge a URL under a standard.
type source func(ctx context.Context, u canon.URL, s robots.Standard) (inquiry.Robots, error)

// source opens the source of the robots.txt; done releases it.
func (c *check) source(urls []canon.URL, std cli.Streams) (from source, done func(), err error) {
	if c.file != "" {
		body, err := readFile(c.file, std)
		if err != nil {
			return nil, nil, err
		}
		had := inquiry.Robots{From: c.file, Body: body, Digest: sha256.Sum256(body)}
		return func(context.Context, canon.URL, robots.Standard) (inquiry.Robots, error) { return had, nil }, func() {}, nil
	}
	given := urls
	if c.url != "" {
		at, err := cli.URL(c.url)
		if err != nil {
			return nil, nil, cli.Usagef("--url: %w", err)
		}
		given = []canon.URL{at}
	}
	locks, err := crawldir.HostLocks(func(format string, args ...any) { fmt.Fprintf(std.Err, "curtsy: "+format+"\n", args...) })
	if err != nil {
		return nil, nil, err
	}
	q, err := inquiry.New(&c.settings, given, locks)
	if err != nil {
		return nil, nil, errors.Join(err, locks.Close())
	}
	from = func(ctx context.Context, u canon.URL, s robots.Standard) (inquiry.Robots, error) {
		if c.url != "" {
			return q.Ask(ctx, given[0].Authority(), given[0].String(), s)
		}
		return q.Ask(ctx, u.Authority(), "", s)
	}
	return from, func() { _ = errors.Join(q.Close(), locks.Close()) }, nil // nothing is left to be kept
}
