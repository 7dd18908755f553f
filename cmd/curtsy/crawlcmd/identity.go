package crawlcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/fetch/webbotauth"
	"curtsy/crawler/inquiry"
	"curtsy/crawler/policypage"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/robots"
	"curtsy/storage/plainly"
)

func NewIdentity(std cli.Streams) *cobra.Command {
	return cli.Family("identity", newInit(std), newSet(std), newShow(std), newCheck(std), newOwn(std), newKeygen(std))
}

func newSet(std cli.Streams) *cobra.Command {
	var s crawldir.Settings
	cmd := cli.Command("identity set")
	config.Some(&s, cmd.Flags(), config.Identity...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		given := map[string]string{}
		for _, name := range config.Identity {
			if f := cmd.Flags().Lookup(name); f.Changed {
				given[name] = f.Value.String()
			}
		}
		if len(given) == 0 {
			return cli.Usagef("nothing to set: give --contact, --operator, --purpose or --agent")
		}
		id := s.Identity()
		if err := id.Validate(); err != nil {
			return cli.Usagef("%w", err)
		}
		if _, ok := given["contact"]; ok {
			if err := id.CheckContact(); err != nil {
				return cli.Usagef("%w", err)
			}
		}
		path, err := crawldir.UserConfig()
		if err != nil {
			return err
		}
		if err := setKeys(path, given); err != nil {
			return err
		}
		fmt.Fprintf(std.Err, "saved in %s; requests will have\n", path)
		return printIdentity(std, path)
	}
	return cmd
}

type shown struct {
	Contact   string `json:"contact"`
	Operator  string `json:"operator"`
	Purpose   string `json:"purpose"`
	Agent     string `json:"agent"` // the product token
	UserAgent string `json:"user_agent"`
	From      string `json:"from,omitempty"`
	File      string `json:"file"` // that identity set writes
}

func newShow(std cli.Streams) *cobra.Command {
	asJSON := false
	cmd := cli.Command("identity show", cli.Flags{"json": &asJSON})
	cmd.RunE = func(*cobra.Command, []string) error {
		s, err := config.New()
		if err != nil {
			return err
		}
		path, err := crawldir.UserConfig()
		if err != nil {
			return err
		}
		id := s.Identity()
		out := shown{id.Contact, s.Operator, s.Purpose, id.ProductToken(), id.UserAgent(), id.From(), path}
		if asJSON {
			return cli.WriteJSON(std.Out, out)
		}
		for _, row := range [][2]string{
			{"contact", out.Contact}, {"operator", out.Operator}, {"purpose", out.Purpose}, {"agent", out.Agent},
			{"User-Agent", out.UserAgent}, {"From", out.From}, {"file", out.File},
		} {
			fmt.Fprintf(std.Out, "%-10s  %s\n", row[0], plainly.OneLine(cmp.Or(row[1], "not set")))
		}
		if err := id.CheckContact(); err != nil {
			fmt.Fprintln(std.Err, plainly.Error(err))
		}
		return nil
	}
	return cmd
}

// printIdentity prints the header fields that the configuration file at path sets.
func printIdentity(std cli.Streams, path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var kept map[string]any
	if err := toml.Unmarshal(b, &kept); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	text := func(name string) string { v, _ := kept[name].(string); return v }
	id := (&crawldir.Settings{Agent: text("agent"), Contact: text("contact")}).Identity()
	fmt.Fprintf(std.Out, "User-Agent: %s\n", plainly.Lines(id.UserAgent()))
	if from := id.From(); from != "" {
		fmt.Fprintf(std.Out, "From: %s\n", plainly.Lines(from))
	}
	return nil
}

// setKeys sets top-level keys of a TOML file and keeps everything else, comments included.
func setKeys(path string, values map[string]string) error {
	before, err := config.ReadLayer(path, true)
	if err != nil {
		return fmt.Errorf("%w; fix it first", err)
	}
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("configuration: %w", err)
	}
	var lines []string
	if len(b) > 0 {
		lines = strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	}
	want := maps.Clone(before.Values)
	if want == nil {
		want = map[string]any{}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		line, err := toml.Marshal(map[string]string{name: value})
		if err != nil {
			return err
		}
		want[name] = value
		lines = setLine(lines, name, strings.TrimSpace(string(line)))
	}
	text := strings.TrimPrefix(strings.Join(lines, "\n")+"\n", "\ufeff")
	// A line may be part of a multi-line string: setKeys writes only text that reads back as expected.
	var got map[string]any
	if err := toml.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s is written in a way that cannot be changed without harm: set the keys by hand", path)
	}
	return writeConfiguration(path, []byte(text))
}

// writeConfiguration writes a file of the user's configuration. A link stays a link.
func writeConfiguration(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	if linked, err := filepath.EvalSymlinks(path); err == nil {
		path = linked
	}
	return durable.WriteFile(path, text, 0o600)
}

// setLine replaces the line of a top-level key, or adds it before the first table.
func setLine(lines []string, name, line string) []string {
	at := len(lines)
	for i, l := range lines {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "[") {
			at = i
			break
		}
		if key, _, ok := strings.Cut(l, "="); ok && strings.Trim(strings.TrimSpace(key), `"'`) == name {
			lines[i] = line
			return lines
		}
	}
	return append(lines[:at:at], append([]string{line}, lines[at:]...)...)
}

func newOwn(std cli.Streams) *cobra.Command {
	cmd := cli.Command("identity own")
	cmd.Args = cli.Exactly(1, "one host")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		host, err := crawldir.OwnHost(args[0])
		if err != nil {
			return cli.Usagef("%q: %w", args[0], err)
		}
		path, err := crawldir.OwnKey.Path()
		if err != nil {
			return err
		}
		key, err := crawldir.OwnKey.Make(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(std.Err, "Let https://%s%s hold this line, then crawl with --own-site %s:\n", host, crawler.OwnerPath, host)
		_, err = fmt.Fprintln(std.Out, crawler.OwnerValue(key, host))
		return err
	}
	return cmd
}

// publishing are the flags of identity keygen that are not settings.
type publishing struct {
	to    string
	valid crawldir.Duration
	nginx bool
}

func newKeygen(std cli.Streams) *cobra.Command {
	var s crawldir.Settings
	o := publishing{valid: crawldir.Duration(webbotauth.DefaultDirectoryLife)}
	cmd := cli.Command("identity keygen")
	fs := cmd.Flags()
	all := config.Some(&s, fs, config.Signature...)
	fs.StringVarP(&o.to, "output", "o", "", "`FILE` write the key directory to this file")
	fs.Var(&o.valid, "valid", "`TIME` validity of the directory's signature")
	fs.BoolVar(&o.nginx, "nginx", false, "print the header fields as an nginx location")
	cli.Group(fs, "Key directory")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		given := map[string]string{}
		for _, name := range config.Signature {
			if f := fs.Lookup(name); f.Changed {
				given[name] = f.Value.String()
			}
		}
		if err := config.Resolve(&s, all, "", ""); err != nil {
			return err
		}
		if s.SignatureAgent == "" {
			return cli.Usagef("where will the key be published? give --signature-agent https://crawl.your-domain.org")
		}
		return o.run(&s, given, std)
	}
	return cmd
}

// run makes the key first: all outputs share it, and it is never made twice.
func (o *publishing) run(s *crawldir.Settings, given map[string]string, std cli.Streams) error {
	if o.nginx && o.to == "" {
		return cli.Usagef("--nginx prints how to serve the file that -o names: give -o FILE")
	}
	if err := cli.MayWrite("--output", o.to, userfile.Kind{Name: "a key directory", Mark: webbotauth.Mark}); err != nil {
		return err
	}
	agent, err := webbotauth.ParseAgent(s.SignatureAgent)
	if err != nil {
		return cli.Usagef("--signature-agent: %w", err)
	}
	key, err := crawldir.MakeBotKey()
	if err != nil {
		return err
	}
	signer, err := webbotauth.New(key, agent, s.SignatureDraft, s.SignatureLife)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	now, valid := time.Now(), time.Duration(o.valid)
	publication, err := webbotauth.Publish(key, agent, s.SignatureDraft, now, valid)
	if err != nil {
		return cli.Usagef("--valid: %w", err)
	}
	if len(given) > 0 {
		path, err := crawldir.UserConfig()
		if err != nil {
			return err
		}
		if err := setKeys(path, given); err != nil {
			return err
		}
		fmt.Fprintf(std.Err, "kept in %s; requests of crawls that begin from now on are signed\n", path)
	}
	if o.to == "" {
		_, err := fmt.Fprintf(std.Out, "%skeyid: %s\n", strings.ReplaceAll(signer.AgentField(), "\r\n", "\n"), key.ID())
		return err
	}
	if err := durable.WriteFile(o.to, publication.Body, 0o666); err != nil {
		return fmt.Errorf("key directory: %w", err)
	}
	fmt.Fprintf(std.Err, "Publish %s, unchanged and with the fields below, at\n  %s\nand write it again before %s:\n",
		plainly.Argument(o.to), publication.URL, now.Add(valid).UTC().Format("2 January 2006"))
	return writeFields(std.Out, publication, o.nginx)
}

// writeFields writes the header fields of a key directory, or an nginx location that sends them: the file name has no
// extension for its type, and a content coding would change the digest.
func writeFields(w io.Writer, p webbotauth.Publication, nginx bool) error {
	var b strings.Builder
	if nginx {
		fmt.Fprintf(&b, "location = %s {\n    types { }\n    default_type %s;\n    gzip off;\n", p.Path, webbotauth.MediaType)
	}
	for _, f := range p.Fields {
		switch {
		case !nginx:
			fmt.Fprintf(&b, "%s: %s\n", f.Name, f.Value)
		case f.Name != "Content-Type":
			fmt.Fprintf(&b, "    add_header %s '%s';\n", f.Name, f.Value)
		}
	}
	if nginx {
		b.WriteString("}\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const maxRedirects = 5

type identityChecking struct {
	settings  crawldir.Settings
	own       *pflag.FlagSet // the flags of settings
	config    string
	addresses []string
	json      bool

	inquiry *inquiry.Inquiry
}

func newCheck(std cli.Streams) *cobra.Command {
	var c identityChecking
	cmd := cli.Command("identity check")
	cmd.Args = cli.Exactly(1, "one URL")
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringSliceVar(&c.addresses, "address", nil, "`ADDRESS` public address of this machine: check that it is published; repeatable")
	cli.Group(fs, "Check")
	fs.BoolVar(&c.json, "json", false, "print JSON")
	cli.Group(fs, "Output")
	c.own = config.Some(&c.settings, fs, config.Asking...)
	cli.Often(fs, "contact")
	fs.StringVar(&c.config, "config", "", "`FILE` settings file (TOML)")
	cli.Group(fs, "Asking the host")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0], std) }
	return cmd
}

func (c *identityChecking) run(ctx context.Context, raw string, std cli.Streams) error {
	at, err := cli.URL(raw)
	if err != nil {
		return err
	}
	want, err := c.wanted()
	if err != nil {
		return err
	}
	locks, err := crawldir.HostLocks(func(format string, args ...any) { fmt.Fprintf(std.Err, "curtsy: "+format+"\n", args...) })
	if err != nil {
		return err
	}
	if c.inquiry, err = inquiry.New(&c.settings, []canon.URL{at}, locks); err != nil {
		return errors.Join(err, locks.Close())
	}
	found, err := policypage.Look(ctx, at.String(), want, c.fetch)
	if err = errors.Join(err, c.inquiry.Close(), locks.Close()); err != nil {
		return err
	}
	if err := c.print(at.String(), &found, std); err != nil {
		return err
	}
	switch {
	case found.Silent:
		return cli.Silent(cli.ExitFailed)
	case !found.Agree:
		return cli.Silent(cli.ExitFound)
	}
	return nil
}

// wanted returns the page's requirements by the settings and the stored answers.
func (c *identityChecking) wanted() (w policypage.Wanted, err error) {
	if err := config.Resolve(&c.settings, c.own, c.config, ""); err != nil {
		return w, err
	}
	k, err := readKept()
	if err != nil {
		return w, err
	}
	id := c.settings.Identity()
	if err := id.Validate(); err != nil {
		return w, cli.Usagef("%w", err)
	}
	if id.Contact == "" && !k.there {
		return w, cli.Usagef("your settings do not identify you, so there is nothing to compare a page with; begin with curtsy identity init")
	}
	if w.Statement, err = k.statement(&c.settings, false); err != nil {
		return w, err
	}
	if w.Directory != "" {
		key, err := crawldir.ReadBotKey()
		switch {
		case err == nil:
			w.SigningKey = key.ID()
		case !errors.Is(err, fs.ErrNotExist):
			return w, err
		}
	}
	w.Carried, w.RangesKept, w.Now = id.Contact, k.there, time.Now()
	if strings.Contains(w.Carried, "://") { // it is compared with canonical URLs
		if u, err := canon.Parse(w.Carried); err == nil {
			w.Carried = u.String()
		}
	}
	for _, text := range c.addresses {
		a, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil || a.Zone() != "" {
			return w, cli.Usagef("--address %q: write an address, like 192.0.2.7 or 2001:db8::7", text)
		}
		w.Addresses = append(w.Addresses, a.Unmap())
	}
	return w, nil
}

// fetch requests a document, if robots.txt allows it, and follows redirects.
func (c *identityChecking) fetch(ctx context.Context, raw string) (policypage.Answer, error) {
	a := policypage.Answer{URL: raw}
	for {
		u, err := canon.Parse(a.URL)
		if err != nil {
			a.Trouble = "not a URL that can be requested"
			return a, nil
		}
		had, err := c.inquiry.Ask(ctx, u.Authority(), "", robots.RFC9309)
		if err != nil {
			return a, err
		}
		if had.Body == nil && !had.Verdict.Allowed {
			a.Trouble, a.Silent = "its host's robots.txt is unavailable: "+reason(had.Failure), true
			return a, nil
		}
		if a.Trouble = c.forbidden(u, had); a.Trouble != "" {
			return a, nil
		}
		ex, err := c.inquiry.Exchange(ctx, u.String())
		if err != nil {
			return a, err
		}
		header := http.Header(ex.Header)
		a.Status, a.Body, a.Type = ex.Status, ex.Body, header.Get("Content-Type")
		switch {
		case ex.Failure != "":
			a.Trouble, a.Silent = reason(ex.Failure), true
			return a, nil
		case ex.Oversize:
			a.Trouble = "it is larger than " + plainly.ExactSize(policypage.MaxDocument)
			return a, nil
		}
		next := header.Get("Location")
		if next == "" || !slices.Contains([]int{301, 302, 303, 307, 308}, ex.Status) {
			return a, nil
		}
		if to, err := u.Resolve(next); err == nil {
			next = to.String()
		}
		if len(a.Redirects) == maxRedirects {
			a.Trouble = fmt.Sprintf("more than %d redirects", maxRedirects)
			return a, nil
		}
		a.Redirects, a.URL = append(a.Redirects, next), next
	}
}

// forbidden returns the robots.txt rule that forbids u; "" for none.
func (c *identityChecking) forbidden(u canon.URL, had inquiry.Robots) string {
	if had.Body == nil {
		return ""
	}
	v := robots.Parse(had.Body, robots.Options{Token: c.settings.Agent}).Match(u.RequestURI())
	if v.Allowed {
		return ""
	}
	return fmt.Sprintf("line %d of its host's robots.txt forbids it to %s, and to every polite reader of that name", v.Line, c.settings.Agent)
}

// reason describes a failure, and keeps the advice in parentheses.
func reason(failure string) string {
	name, advice, found := strings.Cut(failure, " (")
	if found {
		advice = " (" + advice
	}
	return plainly.Reason(name) + advice
}

type CheckJSON struct {
	Version int    `json:"version"`
	URL     string `json:"url"`
	*policypage.Findings
}

func (c *identityChecking) print(at string, f *policypage.Findings, std cli.Streams) error {
	if c.json {
		return cli.WriteJSON(std.Out, CheckJSON{1, at, f})
	}
	if _, err := fmt.Fprint(std.Out, text.Wrap(text.Render("identity", f))); err != nil {
		return err
	}
	n := 0
	for _, c := range f.Checks {
		if c.Result == policypage.Differs || c.Result == policypage.Missing {
			n++
		}
	}
	switch {
	case n == 0:
		fmt.Fprintln(std.Err, "the published files agree with your settings")
	case f.Silent:
		fmt.Fprintln(std.Err, "the page is unavailable")
	default:
		fmt.Fprintf(std.Err, "%s: publish the files of curtsy identity init, or fix the settings\n", plainly.Count(n, "disagreement"))
	}
	return nil
}
