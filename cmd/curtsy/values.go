package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage/plainly"
)

// duration is a flag value in Go's syntax (1s, 500ms, 2h30m). A bare 0 is allowed; any other bare number has no unit.
type duration time.Duration

// String writes it the way people do: 5m, not 5m0s.
func (d *duration) String() string { return plainly.Duration(time.Duration(*d)) }

func (d *duration) Type() string { return "duration" }

func (d *duration) Set(s string) error {
	v, err := time.ParseDuration(s)
	switch {
	case err == nil && v < 0:
		return fmt.Errorf("%q is negative", s)
	case err != nil:
		if _, bare := strconv.ParseFloat(s, 64); bare == nil {
			return fmt.Errorf("%q has no unit; write %ss, %sm or %sms", s, s, s, s)
		}
		return fmt.Errorf("%q is no duration; write it like 500ms, 1s or 2h30m", s)
	}
	*d = duration(v)
	return nil
}

// number is a whole number that is not less than least.
type number struct{ n, least int64 }

func (n *number) String() string { return strconv.FormatInt(n.n, 10) }
func (n *number) Type() string   { return "int" }

func (n *number) Set(s string) error {
	v, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%q is too large", s)
	case err != nil:
		return fmt.Errorf("%q is no whole number", s)
	case v < n.least:
		return fmt.Errorf("%q is less than %d", s, n.least)
	}
	n.n = v
	return nil
}

// size is a flag value in octets with a unit (100MiB). A bare 0 is allowed.
type size int64

var units = []struct {
	suffix string
	factor float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

func (z *size) String() string { return formatSize(int64(*z)) }
func (z *size) Type() string   { return "size" }

func (z *size) Set(s string) error {
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
		*z = size(n * u.factor)
		return nil
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return fmt.Errorf("%q has no unit; write it like 100MiB or 4096B", s)
	}
	return fmt.Errorf("%q is no size; write it like 100MiB, 1.5GiB or 4096B", s)
}

// formatSize writes octets exactly where a unit allows it.
func formatSize(n int64) string { return plainly.Size(n) }

// roughSize writes octets for people.
func roughSize(n int64) string {
	for i := 3; i >= 0; i-- {
		if f := units[i].factor; float64(n) >= f {
			return fmt.Sprintf("%.1f %s", float64(n)/f, units[i].suffix)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// standard is a flag value that names a document on robots.txt.
type standard robots.Standard

func (z *standard) String() string { return robots.Standard(*z).String() }
func (z *standard) Type() string   { return "standard" }

func (z *standard) Set(s string) error {
	v, err := robots.ParseStandard(s)
	if err == nil {
		*z = standard(v)
	}
	return err
}

// order is a flag value: the order of the tasks within a host.
type order frontier.Order

func (o *order) Type() string { return "order" }

func (o *order) String() string {
	if frontier.Order(*o) == frontier.DepthFirst {
		return "depth"
	}
	return "breadth"
}

func (o *order) Set(s string) error {
	switch s {
	case "breadth":
		*o = order(frontier.BreadthFirst)
	case "depth":
		*o = order(frontier.DepthFirst)
	default:
		return fmt.Errorf("%q is no order: write breadth or depth", s)
	}
	return nil
}
