package robots

import (
	"math/bits"
	"strings"
	"time"
)

// maxDelay is the longest delay that is told apart: whoever asks for more gets a year.
const maxDelay = 365 * 24 * time.Hour

// delay is a time that may not be given at all.
type delay struct {
	d  time.Duration
	ok bool
}

func (a delay) longer(b delay) delay { return delay{max(a.d, b.d), a.ok || b.ok} }

// or returns a, or b when a is not given.
func (a delay) or(b delay) delay {
	if a.ok {
		return a
	}
	return b
}

// readDelay reads the value of a Crawl-delay: decimal digits, perhaps a point and more digits, then the end, white
// space or a unit (s, m, h, d; seconds without one). Anything else, like "-5", "nan", "1/10" or ".5", is no delay.
func readDelay(value string) delay {
	d, rest, ok := readSeconds(value)
	if !ok {
		return delay{}
	}
	if rest == "" {
		return delay{d, true}
	}
	switch rest[0] {
	case ' ', '\t', 's', 'S':
		return delay{d, true}
	case 'm', 'M':
		return delay{scale(d, 60), true}
	case 'h', 'H':
		return delay{scale(d, 60*60), true}
	case 'd', 'D':
		return delay{scale(d, 24*60*60), true}
	}
	return delay{}
}

// readRate reads the value of a Request-rate, "n/t" with a unit after t as in readDelay: n exchanges in each t. It
// returns the delay t/n, rounded up. A time of day after it, which some files have, is passed over: the rate is kept
// all day.
func readRate(value string) delay {
	count, period, _ := strings.Cut(value, "/")
	n, rest := leadingDigits(strings.Trim(count, " \t"))
	t := readDelay(strings.Trim(period, " \t"))
	if n == 0 || rest != "" || !t.ok {
		return delay{}
	}
	d := t.d / time.Duration(n)
	if t.d%time.Duration(n) > 0 {
		d++
	}
	return delay{d, true}
}

// readSeconds reads digits[.digits] at the start of s as seconds, rounded up to a nanosecond.
func readSeconds(s string) (d time.Duration, rest string, ok bool) {
	n, rest := leadingDigits(s)
	if len(rest) == len(s) {
		return 0, s, false
	}
	d = scale(time.Second, n)
	if rest == "" || rest[0] != '.' {
		return d, rest, true
	}
	fraction := rest[1:]
	rest = strings.TrimLeft(fraction, "0123456789")
	fraction = fraction[:len(fraction)-len(rest)]
	if fraction == "" {
		return 0, s, false
	}
	unit := time.Second
	for i := range len(fraction) {
		unit /= 10
		d += unit * time.Duration(fraction[i]-'0')
		if unit == 0 && fraction[i] != '0' {
			d++
			break
		}
	}
	return min(d, maxDelay), rest, true
}

// scale returns d × n, at most maxDelay.
func scale(d time.Duration, n uint64) time.Duration {
	if hi, lo := bits.Mul64(uint64(d), n); hi == 0 && lo < uint64(maxDelay) {
		return time.Duration(lo)
	}
	return maxDelay
}

// leadingDigits reads the decimal number that s begins with, at most 1<<62; rest is s when there is none.
func leadingDigits(s string) (n uint64, rest string) {
	for s != "" && '0' <= s[0] && s[0] <= '9' {
		if n < 1<<58 {
			n = n*10 + uint64(s[0]-'0')
		} else {
			n = 1 << 62
		}
		s = s[1:]
	}
	return n, s
}
