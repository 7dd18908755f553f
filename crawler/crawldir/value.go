package crawldir

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"curtsy/crawler/fetch/webbotauth"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage/mirror"
	"curtsy/storage/mirror/layout"
	"curtsy/storage/plainly"
)

// Duration is a time in Go's syntax (1s, 500ms, 2h30m). A bare 0 is allowed; any other bare number has no unit.
type Duration time.Duration

// String writes it the way people do: 5m, not 5m0s.
func (d *Duration) String() string { return plainly.Duration(time.Duration(*d)) }

// Type names the kind of value.
func (d *Duration) Type() string { return "duration" }

// Set reads it.
func (d *Duration) Set(s string) error {
	v, err := time.ParseDuration(s)
	switch {
	case err == nil && v < 0:
		return fmt.Errorf("%q is negative", s)
	case err != nil:
		if _, bare := strconv.ParseFloat(s, 64); bare == nil {
			return fmt.Errorf("%q has no unit; write %ss, %sm or %sms", s, s, s, s)
		}
		return fmt.Errorf("%q is not a duration; write it like 500ms, 1s or 2h30m", s)
	}
	*d = Duration(v)
	return nil
}

// number is a whole number that is not less than a bound.
type number struct {
	n     *int64
	least int64
}

// AtLeast is the number at n, which is not set to less than least.
func AtLeast(n *int64, least int64) pflag.Value { return &number{n, least} }

func (n *number) String() string { return strconv.FormatInt(*n.n, 10) }

// Type names the kind of value, as all methods of this name do.
func (n *number) Type() string { return "int" }

// Set reads a whole number.
func (n *number) Set(s string) error {
	v, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%q is too large", s)
	case err != nil:
		return fmt.Errorf("%q is not a whole number", s)
	case v < n.least:
		return fmt.Errorf("%q is less than %d", s, n.least)
	}
	*n.n = v
	return nil
}

// Share is a part of a whole, between 0 and 1.
type Share float64

func (z *Share) String() string { return strconv.FormatFloat(float64(*z), 'g', -1, 64) }

// Type names the kind of value.
func (z *Share) Type() string { return "share" }

// Set reads it.
func (z *Share) Set(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0 && v < 1) {
		return fmt.Errorf("%q: write a share between 0 and 1, like 0.8", s)
	}
	*z = Share(v)
	return nil
}

// Size is a number of bytes with a unit (100MiB). A bare 0 is allowed.
type Size int64

// units are those that a size is read in.
var units = []struct {
	suffix string
	factor float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

func (z *Size) String() string { return plainly.Size(int64(*z)) }

// Type names the kind of value.
func (z *Size) Type() string { return "size" }

// Set reads it.
func (z *Size) Set(s string) error {
	if s == "0" {
		*z = 0
		return nil
	}
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || !(n >= 0) || n*u.factor >= 1<<62 {
			break
		}
		*z = Size(n * u.factor)
		return nil
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return fmt.Errorf("%q has no unit; write it like 100MiB or 4096B", s)
	}
	return fmt.Errorf("%q is not a size; write it like 100MiB, 1.5GiB or 4096B", s)
}

// A word is a setting that takes one of some words.
type word[T any] struct {
	to    *T
	kind  string
	write func(T) string
	read  func(string) (T, error)
}

func (w *word[T]) String() string { return w.write(*w.to) }

// Type names the kind of value.
func (w *word[T]) Type() string { return w.kind }

// Set reads it.
func (w *word[T]) Set(s string) error {
	v, err := w.read(s)
	if err == nil {
		*w.to = v
	}
	return err
}

// Standard is the setting of a document on robots.txt.
func Standard(to *robots.Standard) pflag.Value {
	return &word[robots.Standard]{to, "standard", robots.Standard.String, robots.ParseStandard}
}

// Layout is the setting of the folders in which the files of a mirror are.
func Layout(to *layout.Kind) pflag.Value {
	return &word[layout.Kind]{to, "layout", layout.Kind.String, layout.Parse}
}

// Vanished is the setting of what becomes of pages that are gone.
func Vanished(to *mirror.Vanished) pflag.Value {
	return oneOf(to, "vanished", ": write keep or remove", "keep", "remove")
}

// order is the setting of the order of the tasks within a host.
func order(to *frontier.Order) pflag.Value {
	return oneOf(to, "order", " is not an order: write breadth or depth", "breadth", "depth")
}

// draft is the setting of a draft of Web Bot Auth.
func draft(to *webbotauth.Draft) pflag.Value {
	return &word[webbotauth.Draft]{to, "draft", func(d webbotauth.Draft) string { return string(d) }, webbotauth.ParseDraft}
}

// oneOf is the setting of a number by its word. hint says what to write.
func oneOf[T ~uint8](to *T, kind, hint string, words ...string) pflag.Value {
	read := func(s string) (T, error) {
		i := slices.Index(words, s)
		if i < 0 {
			return 0, fmt.Errorf("%q%s", s, hint)
		}
		return T(i), nil
	}
	return &word[T]{to, kind, func(n T) string { return words[n] }, read}
}
