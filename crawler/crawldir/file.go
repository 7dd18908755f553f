package crawldir

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/spf13/pflag"

	"curtsy/crawler"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier/engine"
	"curtsy/storage/hostrule"
)

// maxUserFile bounds a file of settings or certificates, far above hand-written ones.
const maxUserFile = 16 << 20

// File is a file of settings.
type File struct {
	Path   string
	Values map[string]any      // as TOML decodes them, by the name of the setting
	Places map[string]Position // of the keys, by name

	hosts   []hostTable
	unknown []*UnknownKey
}

// hostTable is one [[host]] table.
type hostTable struct {
	place  Position
	values map[string]any
	places map[string]Position
}

// Position is a place in a file, from 1:1; zero is nowhere.
type Position struct{ Line, Column int }

// An UnknownKey is a key of a file that is not a setting.
type UnknownKey struct {
	Path         string
	Line, Column int
	Key          string
	Host         bool // it is in a [[host]] table
}

func (k *UnknownKey) Error() string {
	if k.Host {
		return fmt.Sprintf("%s:%d:%d: unknown key %q of [[%s]]", k.Path, k.Line, k.Column, k.Key, HostTable)
	}
	return fmt.Sprintf("%s:%d:%d: unknown key %q", k.Path, k.Line, k.Column, k.Key)
}

// ReadFile reads a file of settings. An unknown key is an *UnknownKey.
func ReadFile(path string) (File, error) {
	f, err := parseFile(path)
	if err == nil && len(f.unknown) > 0 {
		err = &Misuse{f.unknown[0]}
	}
	return f, err
}

// parseFile is ReadFile, but leaves unknown keys to the caller.
func parseFile(path string) (File, error) {
	f := File{Path: path, Places: map[string]Position{}}
	b, err := userfile.ReadAll(path, maxUserFile)
	if err != nil {
		return f, misuse("configuration: %w", err)
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	if err := toml.Unmarshal(b, &f.Values); err != nil {
		var d *toml.DecodeError
		if errors.As(err, &d) {
			row, column := d.Position()
			return f, misuse("%s:%d:%d: %w", path, row, column, err)
		}
		return f, misuse("%s: %w", path, err)
	}
	f.locate(b)
	tables, _ := f.Values[HostTable].([]any)
	for i := range f.hosts {
		f.hosts[i].values, _ = tables[i].(map[string]any)
	}
	return f, nil
}

// locate records the places of the keys and finds the unknown ones.
func (f *File) locate(b []byte) {
	p := unstable.Parser{}
	p.Reset(b)
	var in *hostTable
	names, hostNames := Names(), HostNames()
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.KeyValue && e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		it := e.Key()
		if !it.Next() {
			continue
		}
		key := string(it.Node().Data)
		start := p.Shape(it.Node().Raw).Start
		at := Position{start.Line, start.Column}
		switch {
		case e.Kind == unstable.ArrayTable && key == HostTable && it.IsLast():
			f.hosts = append(f.hosts, hostTable{place: at, places: map[string]Position{}})
			in = &f.hosts[len(f.hosts)-1]
		case e.Kind == unstable.KeyValue && it.IsLast() && in == nil && slices.Contains(names, key):
			f.Places[key] = at
		case e.Kind == unstable.KeyValue && it.IsLast() && in != nil && slices.Contains(hostNames, key):
			in.places[key] = at
		default:
			f.unknown = append(f.unknown, &UnknownKey{f.Path, at.Line, at.Column, key, in != nil && e.Kind == unstable.KeyValue})
		}
	}
}

// Hosts returns the rules for single hosts, and reports whether the file has any.
func (f File) Hosts() (rules hostrule.Rules, ok bool, err error) {
	for _, t := range f.hosts {
		r, problems := t.rule(f.Path)
		if len(problems) > 0 {
			return nil, true, problems[0].err
		}
		rules = append(rules, r)
	}
	return rules, len(f.hosts) > 0, nil
}

type problem struct {
	at  Position
	err error
}

func (t hostTable) rule(path string) (r hostrule.Rule, problems []problem) {
	wrong := func(key string, err error) {
		at, ok := t.places[key]
		if !ok {
			at = t.place
		}
		problems = append(problems, problem{at, misuse("%s:%d:%d: [[%s]] %s: %w", path, at.Line, at.Column, HostTable, key, err)})
	}
	var unread []string
	HostFlags(&r).VisitAll(func(f *pflag.Flag) {
		v, ok := t.values[f.Name]
		if !ok {
			return
		}
		values, err := texts(v)
		if err == nil {
			err = Assign(f, values...)
		}
		if err != nil {
			unread = append(unread, f.Name)
			wrong(f.Name, err)
		}
	})
	for _, w := range r.Wrong(crawler.Floor) {
		if !slices.Contains(unread, w.Key) {
			wrong(w.Key, w.Err)
		}
	}
	return r, problems
}

// Texts returns the values of a setting in the file for Assign, and whether it has any.
func (f File) Texts(name string) (values []string, ok bool, err error) {
	v, ok := f.Values[name]
	if ok {
		values, err = texts(v)
	}
	return values, ok, err
}

// Give assigns the file's value of a setting, and reports whether the file has one.
func (f File) Give(to *pflag.Flag) (bool, error) {
	values, ok, err := f.Texts(to.Name)
	if !ok {
		return false, nil
	}
	if err == nil {
		err = Assign(to, values...)
	}
	if err != nil {
		at := f.Places[to.Name]
		return true, misuse("%s:%d:%d: %s: %w", f.Path, at.Line, at.Column, to.Name, err)
	}
	return true, nil
}

// ReadSettings reads the settings of the crawl in dir. A setting that its file lacks has its default.
func ReadSettings(dir string) (Settings, error) {
	s := Defaults()
	s.Fleet = Fleet{Locator: engine.Locator(dir), OneMachine: true} // seeds were checked when the directory was made
	f, err := ReadFile(in(dir, ConfigName))
	if err != nil {
		return s, err
	}
	s.flags().VisitAll(func(to *pflag.Flag) {
		if err == nil {
			_, err = f.Give(to)
		}
	})
	if err != nil {
		return s, err
	}
	s.Hosts, _, err = f.Hosts()
	return s, err
}

// CheckFile returns all errors in a file of settings: unknown keys, invalid values and, without any of these, settings that
// exclude each other. Each begins with path, line and column. A file that is not TOML has one error.
func CheckFile(path string) (wrong []error) {
	f, err := parseFile(path)
	if err != nil {
		return []error{err}
	}
	var all []problem
	add := func(p Position, err error) { all = append(all, problem{p, err}) }
	for _, u := range f.unknown {
		add(Position{u.Line, u.Column}, &Misuse{u})
	}
	s := Defaults()
	s.flags().VisitAll(func(to *pflag.Flag) {
		if _, err := f.Give(to); err != nil {
			add(f.Places[to.Name], err)
		}
	})
	for _, t := range f.hosts {
		r, problems := t.rule(path)
		for _, p := range problems {
			add(p.at, p.err)
		}
		s.Hosts = append(s.Hosts, r)
	}
	if err := s.Check(nil); err != nil && len(all) == 0 {
		p := f.about(err.Error())
		add(p, misuse("%s:%d:%d: %w", path, p.Line, p.Column, err))
	}
	slices.SortStableFunc(all, func(a, b problem) int { return cmp.Compare(a.at.Line, b.at.Line) })
	for _, p := range all {
		wrong = append(wrong, p.err)
	}
	return wrong
}

// about returns the place of the setting that an error text begins with, or the start of the file.
func (f File) about(text string) Position {
	for _, name := range Names() {
		at, ok := f.Places[name]
		if rest, found := strings.CutPrefix(text, "--"+name); ok && found && !strings.HasPrefix(rest, "-") {
			return at
		}
	}
	return Position{1, 1}
}

func texts(v any) ([]string, error) {
	switch v := v.(type) {
	case string:
		return []string{v}, nil
	case int64:
		return []string{strconv.FormatInt(v, 10)}, nil
	case float64:
		return []string{strconv.FormatFloat(v, 'g', -1, 64)}, nil
	case bool:
		return []string{strconv.FormatBool(v)}, nil
	case []any:
		var all []string
		for _, e := range v {
			one, ok := e.(string)
			if !ok {
				return nil, errors.New("a list of strings is expected")
			}
			all = append(all, one)
		}
		return all, nil
	}
	return nil, fmt.Errorf("a string, a number or a list of strings is expected, not %v", v)
}
