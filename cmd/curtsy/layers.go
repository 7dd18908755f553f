package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/phrasebook"
	"curtsy/cmd/curtsy/userfile"
)

// layer is a configuration file: its keys are settings.
type layer struct {
	path   string
	values map[string]any
}

// maxUserFile bounds a file of settings or certificates, which nobody writes as large by hand.
const maxUserFile = 16 << 20

// readLayer reads a TOML file and checks that every key is a setting of known. A missing file is an empty layer if
// it may be missing.
func readLayer(path string, mayMiss bool, known []string) (layer, error) {
	b, err := userfile.ReadAll(path, maxUserFile)
	if mayMiss && errors.Is(err, fs.ErrNotExist) {
		return layer{path: path}, nil
	}
	if err != nil {
		return layer{}, usagef("configuration: %w", err)
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	l := layer{path: path}
	if err := toml.Unmarshal(b, &l.values); err != nil {
		var d *toml.DecodeError
		if errors.As(err, &d) {
			row, column := d.Position()
			return layer{}, usagef("%s:%d:%d: %w", path, row, column, err)
		}
		return layer{}, usagef("%s: %w", path, err)
	}
	return l, l.checkKeys(b, known)
}

// checkKeys names the first key that is no setting, with its place and the nearest that is one.
func (l layer) checkKeys(b []byte, known []string) error {
	isKnown := map[string]bool{}
	for _, k := range known {
		isKnown[k] = true
	}
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
		if isKnown[key] && it.IsLast() && e.Kind == unstable.KeyValue {
			continue
		}
		at := p.Shape(it.Node().Raw).Start
		msg := fmt.Sprintf("%s:%d:%d: unknown key %q", l.path, at.Line, at.Column, key)
		if p, ok := phrasebook.Find(key); ok && isKnown[p.Flag()] {
			msg += fmt.Sprintf("; that is %s here", p.Flag())
		} else if near := nearest(key, known); near != "" {
			msg += fmt.Sprintf("; did you mean %q?", near)
		}
		return usagef("%s", msg)
	}
	return nil
}

// apply gives every setting that no flag has set the value of the first layer that has it; the environment comes
// before all files.
func apply(flags *pflag.FlagSet, names []string, layers ...layer) error {
	for _, name := range names {
		f := flags.Lookup(name)
		if f.Changed {
			continue
		}
		env := envName(name)
		if v := os.Getenv(env); v != "" {
			if err := setFlag(f, splitList(f, v)); err != nil {
				return usagef("%s: %w", env, err)
			}
			continue
		}
		for _, l := range layers {
			v, ok := l.values[name]
			if !ok {
				continue
			}
			texts, err := texts(v)
			if err == nil {
				err = setFlag(f, texts)
			}
			if err != nil {
				return usagef("%s: %s: %w", l.path, name, err)
			}
			break
		}
	}
	return nil
}

const envPrefix = "CURTSY_"

// envName is the environment variable of a setting.
func envName(setting string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

// warnEnv names variables of the environment that are near a setting's and are none: a budget that was mistyped
// would be none at all.
func warnEnv(w io.Writer, names []string) {
	known := []string{envName("config")}
	for _, name := range names {
		known = append(known, envName(name))
	}
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		rest, ok := strings.CutPrefix(name, envPrefix)
		if !ok || slices.Contains(known, name) {
			continue
		}
		for _, k := range known {
			if nearest(rest, []string{strings.TrimPrefix(k, envPrefix)}) != "" {
				fmt.Fprintf(w, "%s in the environment is no setting; did you mean %s?\n", plain(name), k)
				break
			}
		}
	}
}

// setFlag sets a flag without marking it as given on the command line.
func setFlag(f *pflag.Flag, values []string) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		if f.Value.Type() == "stringSlice" { // whose elements have no comma
			values = strings.FieldsFunc(strings.Join(values, ","), func(r rune) bool { return r == ',' })
		}
		return list.Replace(values)
	}
	if len(values) != 1 {
		return errors.New("one value is expected, not a list")
	}
	if _, err := strconv.ParseBool(values[0]); err != nil && f.Value.Type() == "bool" {
		return fmt.Errorf("%q: write true or false", values[0])
	}
	return f.Value.Set(values[0])
}

// splitList splits the environment's value of a list at spaces, for which no setting of a list has a use.
func splitList(f *pflag.Flag, v string) []string {
	if _, ok := f.Value.(pflag.SliceValue); ok {
		return strings.Fields(v)
	}
	return []string{v}
}

// texts writes a TOML value as flags take it.
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

// userConfig is the path of the user's own configuration file.
func userConfig() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", usagef("no configuration folder: %w; set HOME or XDG_CONFIG_HOME", err)
	}
	return filepath.Join(dir, "curtsy", "config.toml"), nil
}

// formatLayer writes settings as a TOML file that readLayer reads.
func formatLayer(flags *pflag.FlagSet, names []string) ([]byte, error) {
	var b bytes.Buffer
	for _, name := range names {
		f := flags.Lookup(name)
		var v any = f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			v = list.GetSlice()
		} else if n, err := strconv.ParseInt(f.Value.String(), 10, 64); err == nil && strings.HasPrefix(f.Value.Type(), "int") {
			v = n
		} else if f.Value.Type() == "bool" {
			v = f.Value.String() == "true"
		}
		line, err := toml.Marshal(map[string]any{name: v})
		if err != nil {
			return nil, fmt.Errorf("configuration: %s: %w", name, err)
		}
		b.Write(line)
	}
	return b.Bytes(), nil
}
