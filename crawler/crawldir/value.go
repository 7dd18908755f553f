package crawldir

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

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
func AtLeast(n *int64, least int64) *number { return &number{n, least} }

func (n *number) String() string {
	if n.n == nil {
		return "0"
	}
	return strconv.FormatInt(*n.n, 10)
}

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

// Standard names a document on robots.txt.
type Standard robots.Standard

func (z *Standard) String() string { return robots.Standard(*z).String() }

// Type names the kind of value.
func (z *Standard) Type() string { return "standard" }

// Set reads it.
func (z *Standard) Set(s string) error {
	v, err := robots.ParseStandard(s)
	if err == nil {
		*z = Standard(v)
	}
	return err
}

// Order is the order of the tasks within a host.
type Order frontier.Order

// Type names the kind of value.
func (o *Order) Type() string { return "order" }

func (o *Order) String() string {
	if frontier.Order(*o) == frontier.DepthFirst {
		return "depth"
	}
	return "breadth"
}

// Set reads it.
func (o *Order) Set(s string) error {
	switch s {
	case "breadth":
		*o = Order(frontier.BreadthFirst)
	case "depth":
		*o = Order(frontier.DepthFirst)
	default:
		return fmt.Errorf("%q is not an order: write breadth or depth", s)
	}
	return nil
}

// Vanished says what becomes of pages that are gone.
type Vanished mirror.Vanished

// Type names the kind of value.
func (v *Vanished) Type() string { return "vanished" }

func (v *Vanished) String() string {
	if mirror.Vanished(*v) == mirror.Remove {
		return "remove"
	}
	return "keep"
}

// Set reads it.
func (v *Vanished) Set(s string) error {
	switch s {
	case "keep":
		*v = Vanished(mirror.Keep)
	case "remove":
		*v = Vanished(mirror.Remove)
	default:
		return fmt.Errorf("%q: write keep or remove", s)
	}
	return nil
}

// Layout says in which folders the files of a mirror are.
type Layout layout.Kind

// Type names the kind of value.
func (l *Layout) Type() string { return "layout" }

func (l *Layout) String() string { return layout.Kind(*l).String() }

// Set reads it.
func (l *Layout) Set(s string) error {
	k, err := layout.Parse(s)
	if err == nil {
		*l = Layout(k)
	}
	return err
}

// Draft names a draft of Web Bot Auth.
type Draft webbotauth.Draft

func (d *Draft) String() string { return string(*d) }

// Type names the kind of value.
func (d *Draft) Type() string { return "draft" }

// Set reads it.
func (d *Draft) Set(s string) error {
	v, err := webbotauth.ParseDraft(s)
	if err == nil {
		*d = Draft(v)
	}
	return err
}
