package cli

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/crawler/crawldir"
	"curtsy/storage/plainly"
)

var flagName = regexp.MustCompile(`--([\w-]+)`)

// FlagError explains a wrong flag, with the nearest one that exists.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &invalid):
		return Usagef("--%s: %w", invalid.GetFlag().Name, noNumber(invalid))
	case errors.As(err, &unknown):
		if p, ok := elsewhere(cmd, unknown); ok {
			if p.Ours == cmd.CommandPath() {
				return Usagef("%w; leave it out: %s does this already", err, p.Ours)
			}
			return Usagef("%w; %s", err, p)
		}
		if m := flagName.FindStringSubmatch(err.Error()); m != nil {
			if now := cmp.Or(crawldir.Renamed[m[1]], renamed[m[1]]); cmd.Flags().Lookup(now) != nil {
				return Usagef("%w; did you mean --%s?", err, now)
			}
			var names []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
			if near := plainly.Nearest(m[1], names); near != "" {
				return Usagef("%w; did you mean --%s?", err, near)
			}
		}
	}
	return Usagef("%w; see %s --help", err, cmd.CommandPath())
}

// Swallowed reports a flag whose value is another flag of the command, as in --own-site --delay 0.
func Swallowed(cmd *cobra.Command, _ []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			word, _, _ := strings.Cut(value, "=")
			if name, ok := strings.CutPrefix(word, "--"); ok && cmd.Flags().Lookup(name) != nil {
				err = Usagef("--%s needs a value, and %s follows it", f.Name, value)
			}
		}
	})
	return err
}

// renamed maps what flags that are no settings were called before to their names.
var renamed = map[string]string{
	"anew": "overwrite", "condition": "state", "forget": "redact", "fresh": "overwrite", "head": "checkpoint", "maps": "max-sitemaps", "out": "output",
	"skew": "clock-skew", "try": "dry-run", "wing": "all-hostile",
}

// noNumber says what a flag takes that was given something that strconv does not read.
func noNumber(err *pflag.InvalidValueError) error {
	var number *strconv.NumError
	switch {
	case !errors.As(err, &number):
		return errors.Unwrap(err)
	case err.GetFlag().Value.Type() == "bool":
		return fmt.Errorf("%q: write true or false, or nothing after the name", number.Num)
	case errors.Is(number, strconv.ErrRange):
		return fmt.Errorf("%q is too large", number.Num)
	}
	return fmt.Errorf("%q: write a whole number", number.Num)
}

// elsewhere finds what the user may know by another name, from another crawler, if it can be said with this command.
func elsewhere(cmd *cobra.Command, unknown *pflag.NotExistError) (phrase, bool) {
	given := []string{"--" + unknown.GetSpecifiedName()}
	if short := unknown.GetSpecifiedShortnames(); short != "" {
		given = []string{"-" + short, "-" + unknown.GetSpecifiedName()} // -np; or -l5
	}
	for _, g := range given {
		p, ok := Find(g)
		if ok && cmd.Flags().Lookup("seeds") != nil && (p.Flag() == "" || cmd.Flags().Lookup(p.Flag()) != nil || strings.Contains(p.Note, "curtsy mirror")) {
			return p, true
		}
	}
	return phrase{}, false
}

// QuietFlag declares --quiet of a long work.
func QuietFlag(fs *pflag.FlagSet, quiet *bool) {
	fs.BoolVarP(quiet, "quiet", "q", false, "do not show progress")
}
