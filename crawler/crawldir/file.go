package crawldir

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"curtsy/crawler/crawldir/userfile"
)

// maxUserFile bounds a file of settings or certificates, which nobody writes as large by hand.
const maxUserFile = 16 << 20

// File is a file of settings.
type File struct {
	Path   string
	Values map[string]any // as TOML has them, by the name of the setting
}

// An UnknownKey is a key of a file that is no setting.
type UnknownKey struct {
	Path         string
	Line, Column int
	Key          string
}

func (k *UnknownKey) Error() string {
	return fmt.Sprintf("%s:%d:%d: unknown key %q", k.Path, k.Line, k.Column, k.Key)
}

// ReadFile reads a file of settings. A key that is none is an *UnknownKey.
func ReadFile(path string) (File, error) {
	f := File{Path: path}
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
	if unknown := f.unknown(b); unknown != nil {
		return f, &Misuse{unknown}
	}
	return f, nil
}

// unknown returns the first key that is no setting, with its place, or nil.
func (f File) unknown(b []byte) *UnknownKey {
	names := Names()
	p := unstable.Parser{}
	p.Reset(b)
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
		if slices.Contains(names, key) && it.IsLast() && e.Kind == unstable.KeyValue {
			continue
		}
		at := p.Shape(it.Node().Raw).Start
		return &UnknownKey{f.Path, at.Line, at.Column, key}
	}
	return nil
}

// Texts returns the values that a setting has in the file, as Set takes them, and whether it has any.
func (f File) Texts(name string) (values []string, ok bool, err error) {
	v, ok := f.Values[name]
	if ok {
		values, err = texts(v)
	}
	return values, ok, err
}

// Give gives s the file's value of a setting, if it has one, and reports whether it has.
func (f File) Give(s *Settings, name string) (bool, error) {
	values, ok, err := f.Texts(name)
	if !ok {
		return false, nil
	}
	if err == nil {
		err = s.Set(name, values...)
	}
	if err != nil {
		return true, misuse("%s: %s: %w", f.Path, name, err)
	}
	return true, nil
}

// ReadSettings reads the settings of the crawl in dir. What its file does not say has its default.
func ReadSettings(dir string) (Settings, error) {
	s := Defaults()
	f, err := ReadFile(in(dir, ConfigName))
	if err != nil {
		return s, err
	}
	for _, name := range Names() {
		if _, err := f.Give(&s, name); err != nil {
			return s, err
		}
	}
	return s, nil
}

// texts writes a TOML value as Set takes it.
func texts(v any) ([]string, error) {
	switch v := v.(type) {
	case string:
		return []string{v}, nil
	case int64:
		return []string{strconv.FormatInt(v, 10)}, nil
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
	return nil, fmt.Errorf("a string, a whole number or a list of strings is expected, not %v", v)
}
