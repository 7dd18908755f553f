// Package config reads the settings and seeds of a crawl from flags, the environment and files.
package config

import (
	"bufio"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/extract"
	"curtsy/crawler/fetch/webbotauth"
	"curtsy/frontier"
	"curtsy/frontier/durable"
	"curtsy/robots"
	"curtsy/storage/mirror/layout"
	"curtsy/storage/plainly"
)

// ReadLayer reads a settings file. For an unknown key the error suggests the nearest setting. With mayMiss a missing file is
// an empty layer.
func ReadLayer(path string, mayMiss bool) (crawldir.File, error) {
	f, err := crawldir.ReadFile(path)
	if mayMiss && errors.Is(err, fs.ErrNotExist) {
		return crawldir.File{Path: path}, nil
	}
	var unknown *crawldir.UnknownKey
	if !errors.As(err, &unknown) {
		return f, err
	}
	return f, cli.Usagef("%w", Nearer(err))
}

// Nearer adds to the error of an unknown key the setting that is probably meant.
func Nearer(err error) error {
	var unknown *crawldir.UnknownKey
	if !errors.As(err, &unknown) {
		return err
	}
	names, other := crawldir.Names(), crawldir.HostNames()
	if unknown.Host {
		names, other = other, names
	}
	if slices.Contains(other, unknown.Key) && unknown.Host {
		return fmt.Errorf("%w; a setting of the whole crawl belongs above the first [[%s]]", err, crawldir.HostTable)
	} else if slices.Contains(other, unknown.Key) {
		return fmt.Errorf("%w; it is below a [[%s]]", err, crawldir.HostTable)
	}
	if p, ok := cli.Find(unknown.Key); ok && slices.Contains(names, p.Flag()) {
		return fmt.Errorf("%w; that is %s here", err, p.Flag())
	} else if near := plainly.Nearest(unknown.Key, names); near != "" {
		return fmt.Errorf("%w; did you mean %q?", err, near)
	}
	return err
}

type Origin struct {
	From string `json:"from"`         // one of the constants below
	At   string `json:"at,omitempty"` // the variable, or the file with the line
}

const (
	FromFlag        = "flag"
	FromEnvironment = "environment"
	FromFile        = "file"
	FromCrawl       = "crawl"     // the file of the crawl
	FromUser        = "your file" // the user's own
	FromDefault     = "default"
)

type layer struct {
	crawldir.File
	from string
}

// apply gives each setting without a flag the value of the first layer that has it; the environment comes before all files.
// It returns the origins.
func apply(s *crawldir.Settings, flags *pflag.FlagSet, layers ...layer) (map[string]Origin, error) {
	origins := map[string]Origin{}
	for _, name := range crawldir.Names() {
		f := flags.Lookup(name)
		if f.Changed {
			origins[name] = Origin{FromFlag, "--" + name}
			continue
		}
		env := EnvName(name)
		if v := os.Getenv(env); v != "" {
			values := []string{v}
			if _, list := f.Value.(pflag.SliceValue); list { // no list setting has values with spaces
				values = strings.Fields(v)
			}
			if err := crawldir.Assign(f, values...); err != nil {
				return nil, cli.Usagef("%s: %w", env, err)
			}
			origins[name] = Origin{FromEnvironment, env}
			continue
		}
		origins[name] = Origin{From: FromDefault}
		for _, l := range layers {
			if given, err := l.Give(f); err != nil {
				return nil, err
			} else if given {
				origins[name] = Origin{l.from, fmt.Sprintf("%s:%d", l.Path, l.Places[name].Line)}
				break
			}
		}
	}
	for _, l := range layers {
		rules, given, err := l.Hosts()
		if err != nil {
			return nil, err
		}
		if given {
			s.Hosts, origins[crawldir.HostTable] = rules, Origin{l.from, l.Path}
			break
		}
	}
	return origins, nil
}

const envPrefix = "CURTSY_"

// EnvName returns the environment variable of a setting.
func EnvName(setting string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

// WarnEnv warns of environment variables that resemble a setting: a mistyped budget would have no effect.
func WarnEnv(w io.Writer, names []string) {
	known := []string{EnvName("config")}
	for _, name := range names {
		known = append(known, EnvName(name))
	}
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		rest, ok := strings.CutPrefix(name, envPrefix)
		if !ok || slices.Contains(known, name) {
			continue
		}
		for _, k := range known {
			if plainly.Nearest(rest, []string{strings.TrimPrefix(k, envPrefix)}) != "" {
				fmt.Fprintf(w, "%s in the environment is not a setting; did you mean %s?\n", plainly.Lines(name), k)
				break
			}
		}
	}
}

// Resolve sets the settings that have no flag from the environment and the files. config is the file of --config or
// CURTSY_CONFIG; crawl is the crawl's own file, which replaces the user's.
func Resolve(s *crawldir.Settings, flags *pflag.FlagSet, config, crawl string) error {
	_, err := Origins(s, flags, config, crawl)
	return err
}

// Origins is Resolve and returns the origin of each setting; all [[host]] tables have one.
func Origins(s *crawldir.Settings, flags *pflag.FlagSet, config, crawl string) (map[string]Origin, error) {
	var layers []layer
	add := func(path, from string, mayMiss bool) error {
		l, err := ReadLayer(path, mayMiss)
		layers = append(layers, layer{l, from})
		return err
	}
	if config == "" {
		config = os.Getenv(EnvName("config"))
	}
	if config != "" {
		if err := add(config, FromFile, false); err != nil {
			return nil, err
		}
	}
	if crawl != "" {
		if err := add(crawl, FromCrawl, false); err != nil {
			return nil, err
		}
	} else if path, err := crawldir.UserConfig(); err == nil {
		if err := add(path, FromUser, true); err != nil {
			return nil, err
		}
	}
	return apply(s, flags, layers...)
}

// Of reads the settings of the crawl in dir, the environment included.
func Of(dir string) (*crawldir.Settings, error) {
	return settingsOf(filepath.Join(dir, crawldir.ConfigName))
}

// New returns the settings of a new crawl without options.
func New() (*crawldir.Settings, error) { return settingsOf("") }

func settingsOf(file string) (*crawldir.Settings, error) {
	var s crawldir.Settings
	flags := pflag.NewFlagSet("crawl", pflag.ContinueOnError)
	Flags(&s, flags)
	return &s, Resolve(&s, flags, "", file)
}

// Flags declares every setting as a flag, with its default.
func Flags(s *crawldir.Settings, fs *pflag.FlagSet) {
	declare(s, fs)
	cli.Often(fs, "contact", "scope", "include", "exclude", "depth", "delay", "max-pages", "max-per-host", "max-time", "max-wait", "per-host")
}

// Some declares only the named settings. It returns the flags of all.
func Some(s *crawldir.Settings, fs *pflag.FlagSet, names ...string) (all *pflag.FlagSet) {
	all = pflag.NewFlagSet("settings", pflag.ContinueOnError)
	declare(s, all)
	for _, name := range names {
		fs.AddFlag(all.Lookup(name))
	}
	return all
}

// Settings that identify the crawler, that sign requests, and that commands take which contact a host outside of a crawl.
var (
	Identity  = []string{"agent", "contact", "operator", "purpose"}
	Signature = []string{"signature-agent", "signature-draft", "signature-life"}
	Asking    = []string{"contact", "allow-net", "ca-file", "bind", "ipv4", "ipv6", "proxy"}
)

// Scopes explains the values of --scope, for help.
const Scopes = "Scopes, for --scope:\n" +
	"  host    the hosts of the seeds, http and https, with and without www.\n" +
	"  domain  all hosts of the registrable domain: blog.example.org for example.org\n" +
	"  prefix  the URLs of a seed's host below the last / of the seed\n" +
	"  seeds   seeds only; links are not followed\n" +
	"  any     every host that links lead to; needs --max-pages or --max-time"

func Standards() (names []string) {
	for _, s := range robots.Standards() {
		names = append(names, s.String())
	}
	return names
}

// declare declares every setting, and the words that some take.
func declare(s *crawldir.Settings, fs *pflag.FlagSet) {
	*s = crawldir.Defaults()
	s.Flags(fs, func(title string) { cli.Group(fs, title) })
	cli.Words(fs, "signature-draft", webbotauth.Drafts()...)
	cli.Words(fs, "scope", "host", "domain", "prefix", "seeds", "any")
	cli.Words(fs, "page-requisites", "none", "scope", "host", "all", "script", "all,script")
	cli.Words(fs, "external", "none", "head", "get")
	cli.Words(fs, "sample", "hosts:", "pages:")
	cli.Words(fs, "sitemaps", "robots", "none")
	cli.Words(fs, "robots-standard", Standards()...)
	cli.Words(fs, "follow-rel", "nofollow", "ugc", "sponsored", "none")
	cli.Words(fs, "follow", extract.FollowWords()...)
	cli.Words(fs, "own-site", crawldir.OwnLoopback, crawldir.OwnNone)
	cli.Words(fs, "stop-when", "pages=", "tag:", "errors>", "duplicates>", "new-hosts<", "none")
	cli.Words(fs, "order", "breadth", "depth")
	cli.Words(fs, "layout", layout.Words()...)
	cli.Words(fs, "vanished", "keep", "remove")
	var traps []string
	for _, name := range crawldir.TrapNames() {
		traps = append(traps, name+"=")
	}
	cli.Words(fs, "trap", traps...)
}

// MaxComplaints bounds the bad lines of a seed file that are shown; the others are counted.
const MaxComplaints = 20

const (
	batch   = 10_000   // seeds in memory at a time
	maxLine = 64 << 10 // bytes of a line
	maxTag  = 1 << 10  // bytes of a tag: every URL that descends from the seed carries it
)

// Seeds returns the seeds of the arguments and of a list in batches, each once, and reports bad lines.
type Seeds struct {
	given   []frontier.Candidate
	file    *os.File      // nil for standard input
	name    string        // of the list; "" without one
	lines   *bufio.Reader // nil after its end
	verbose bool
	std     cli.Streams

	hash  maphash.Seed
	seen  map[uint64]struct{} // hashed keys: two of a million collide with a chance of 3 in 100 million
	Twice int64               // repeated seeds

	line, usable int64         // of the list, so far
	Bad          int64         // ignored lines
	list         *os.File      // of bad lines that are not shown
	out          *bufio.Writer // to list
}

// OpenSeeds opens the seeds of the arguments and of a file, "-" for standard input. A bad argument is an error; a bad line of a
// file is reported and ignored. There must be an argument or a file.
func OpenSeeds(args []string, file string, verbose bool, std cli.Streams) (*Seeds, error) {
	s := &Seeds{verbose: verbose, std: std, hash: maphash.MakeSeed(), seen: map[uint64]struct{}{}}
	for _, a := range args {
		c, err := crawldir.Seed(a, "")
		if err != nil {
			return nil, cli.Usagef("%w", err)
		}
		s.given = append(s.given, c)
	}
	switch file {
	case "":
	case "-":
		s.name, s.lines = "standard input", bufio.NewReaderSize(std.In, maxLine)
	default:
		f, err := userfile.Open(file)
		if err != nil {
			return nil, cli.Usagef("seeds: %w", err)
		}
		s.name, s.file, s.lines = file, f, bufio.NewReaderSize(f, maxLine)
	}
	if len(args) == 0 && s.lines == nil {
		return nil, cli.Usagef("no seed: give a URL such as https://www.your-domain.org/, or --seeds FILE")
	}
	return s, nil
}

// Next is a crawldir.Seeds. It refuses a list without any seed.
func (s *Seeds) Next() ([]frontier.Candidate, error) {
	var next []frontier.Candidate
	take := func(c frontier.Candidate) {
		h := maphash.String(s.hash, c.URL.Key())
		if _, again := s.seen[h]; again {
			s.Twice++
			return
		}
		s.seen[h] = struct{}{}
		next = append(next, c)
	}
	for _, c := range s.given {
		take(c)
	}
	s.given = nil
	for s.lines != nil && len(next) < batch {
		c, why, err := s.read()
		switch {
		case errors.Is(err, io.EOF):
			if s.lines = nil; s.usable == 0 {
				return nil, cli.Usagef("%s has no usable seed", s.name)
			}
		case err != nil:
			return nil, cli.Usagef("seeds: %w", err)
		case why != "":
			if err := s.complain(why); err != nil {
				return nil, err
			}
		default:
			s.usable++
			take(c)
		}
	}
	if len(next) == 0 {
		return nil, io.EOF
	}
	return next, nil
}

// read returns the next seed of the list, or why it ignores a line; io.EOF after the last line.
func (s *Seeds) read() (c frontier.Candidate, why string, err error) {
	for {
		b, more, err := s.lines.ReadLine()
		if err != nil {
			return c, "", err
		}
		s.line++
		if more {
			for more && err == nil {
				_, more, err = s.lines.ReadLine()
			}
			return c, fmt.Sprintf("line longer than %d bytes, ignored", maxLine), nil
		}
		line := string(b)
		if s.line == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		raw, tag, _ := strings.Cut(line, "\t")
		raw = strings.TrimSpace(raw)
		if raw == "" || strings.HasPrefix(raw, "#") {
			continue
		}
		if tag = strings.TrimSpace(tag); len(tag) > maxTag {
			return c, fmt.Sprintf("tag longer than %d bytes; line ignored", maxTag), nil
		}
		if c, err = crawldir.Seed(raw, tag); err != nil {
			return c, err.Error() + "; line ignored", nil
		}
		return c, "", nil
	}
}

// complain records an ignored line, and prints it if it is among the first, or with verbose.
func (s *Seeds) complain(why string) (err error) {
	text := plainly.OneLine(fmt.Sprintf("%s:%d: %s", s.name, s.line, why))
	if s.Bad++; s.verbose || s.Bad <= MaxComplaints {
		fmt.Fprintln(s.std.Err, text)
	}
	if s.verbose {
		return nil
	}
	if s.list == nil {
		if s.list, err = os.CreateTemp("", "curtsy-bad-seeds-"); err != nil {
			return err
		}
		s.out = bufio.NewWriter(s.list)
	}
	_, err = fmt.Fprintln(s.out, text)
	return err
}

// Report prints the number of ignored lines, and writes those not shown to a file in the crawl directory.
func (s *Seeds) Report(dir string) error {
	if s.Twice > 0 {
		fmt.Fprintf(s.std.Err, "%s given more than once, counted once\n", plainly.Count(s.Twice, "seed"))
	}
	switch {
	case s.Bad <= MaxComplaints:
		return nil
	case s.verbose || dir == "":
		fmt.Fprintf(s.std.Err, "%s: %s ignored in total\n", plainly.Lines(s.name), plainly.Count(s.Bad, "line"))
		return nil
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	if _, err := s.list.Seek(0, io.SeekStart); err != nil {
		return err
	}
	path := filepath.Join(dir, crawldir.BadSeedsName)
	err := durable.File(path, func(w io.Writer) error { _, err := io.Copy(w, s.list); return err })
	if err != nil {
		return fmt.Errorf("seeds: %w", err)
	}
	fmt.Fprintf(s.std.Err, "%s: %s ignored in total; %s lists them\n", plainly.Lines(s.name), plainly.Count(s.Bad, "line"), plainly.Lines(path))
	return nil
}

func (s *Seeds) Close() error {
	if s.file != nil {
		s.file.Close()
	}
	if s.list == nil {
		return nil
	}
	s.list.Close()
	return os.Remove(s.list.Name())
}
