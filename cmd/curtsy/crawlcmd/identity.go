package crawlcmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/crawldir"
	"curtsy/frontier/durable"
	"curtsy/storage/plainly"
)

// NewIdentity is curtsy identity.
func NewIdentity(std cli.Streams) *cobra.Command {
	return cli.Family("identity", newInit(std), newSet(std), newShow(std), newCheck(std), newOwn(std), newKeygen(std))
}

func newSet(std cli.Streams) *cobra.Command {
	s := crawldir.Defaults()
	cmd := cli.Command("identity set")
	cmd.Args = cli.NoArgs
	config.IdentityFlags(&s, cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		given := map[string]string{}
		for _, name := range config.IdentityNames() {
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
	cmd := cli.Command("identity show")
	cmd.Args = cli.NoArgs
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cli.Group(cmd.Flags(), "Output")
	cmd.RunE = func(*cobra.Command, []string) error {
		s := crawldir.Defaults()
		unset := pflag.NewFlagSet("show", pflag.ContinueOnError)
		config.Flags(&s, unset)
		if err := config.Resolve(&s, unset, "", ""); err != nil {
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
