package crawlcmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/fetch/webbotauth"
	"curtsy/frontier/durable"
	"curtsy/storage/plainly"
)

// NewIdentity is curtsy identity.
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

// shown is what identity show prints.
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

// printIdentity shows the fields that the configuration file at path gives to requests.
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

// setKeys sets top-level keys of a TOML file and leaves the rest of it, comments included, as it is.
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
	// A line may be part of a text of several lines: what does not read back as it should is not written.
	var got map[string]any
	if err := toml.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s is written in a way that cannot be changed without harm: set the keys by hand", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	if linked, err := filepath.EvalSymlinks(path); err == nil { // who keeps it elsewhere goes on to do so
		path = linked
	}
	return durable.WriteFile(path, []byte(text), 0o600)
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

// publishing is what identity keygen is told beside the settings.
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

// run makes the key first: there is one for all that can be asked for, and it is never made twice.
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

// writeFields writes the header fields of a key directory, or how nginx is told of them: the file has no ending that
// tells the type, and a coding would change what the digest is over.
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
