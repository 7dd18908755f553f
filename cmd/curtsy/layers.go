package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/phrasebook"
	"curtsy/crawler/crawldir"
)

// readLayer reads a file of settings, and names the setting that is nearest to a key that is none. A missing file is an
// empty layer if it may be missing.
func readLayer(path string, mayMiss bool) (crawldir.File, error) {
	f, err := crawldir.ReadFile(path)
	if mayMiss && errors.Is(err, fs.ErrNotExist) {
		return crawldir.File{Path: path}, nil
	}
	var unknown *crawldir.UnknownKey
	if !errors.As(err, &unknown) {
		return f, err
	}
	names := crawldir.Names()
	if p, ok := phrasebook.Find(unknown.Key); ok && slices.Contains(names, p.Flag()) {
		return f, usagef("%w; that is %s here", err, p.Flag())
	} else if near := nearest(unknown.Key, names); near != "" {
		return f, usagef("%w; did you mean %q?", err, near)
	}
	return f, err
}

// apply gives every setting that no flag has set the value of the first layer that has it; the environment comes
// before all files.
func apply(s *settings, flags *pflag.FlagSet, layers ...crawldir.File) error {
	for _, name := range crawldir.Names() {
		if flags.Changed(name) {
			continue
		}
		env := envName(name)
		if v := os.Getenv(env); v != "" {
			values := []string{v}
			if crawldir.IsList(name) { // at spaces, for which no setting of a list has a use
				values = strings.Fields(v)
			}
			if err := s.Set(name, values...); err != nil {
				return usagef("%s: %w", env, err)
			}
			continue
		}
		for _, l := range layers {
			if given, err := l.Give(&s.Settings, name); err != nil {
				return err
			} else if given {
				break
			}
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
