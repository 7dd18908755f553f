package httpfield

import (
	"regexp"
	"strconv"
	"time"
)

// The field RateLimit (draft-ietf-httpapi-ratelimit-headers) is a list of strings with parameters, as RFC 9651 writes
// such things. A field that does not fit is malformed as a whole, and asks for nothing.
const (
	quotedForm = `"(?:[ !#-\[\]-~]|\\["\\])*"`
	valueForm  = `(?:` + quotedForm + `|\?[01]|:[A-Za-z0-9+/=]*:|[A-Za-z*][A-Za-z0-9!#$%&'*+.^_` + "`" + `|~:/-]*|-?[0-9]{1,12}\.[0-9]{1,3}|-?[0-9]{1,15})`
	paramForm  = `; *([a-z*][a-z0-9_.*-]*)(?:=(` + valueForm + `))?`
	quotaForm  = quotedForm + `(?:; *[a-z*][a-z0-9_.*-]*(?:=` + valueForm + `)?)*`
)

var (
	limitField = regexp.MustCompile(`^ *` + quotaForm + `(?:[ \t]*,[ \t]*` + quotaForm + `)*[ \t]*$`)
	limitQuota = regexp.MustCompile(`^[ \t,]*` + quotedForm)
	limitParam = regexp.MustCompile(`^` + paramForm)
	limitWhole = regexp.MustCompile(`^-?[0-9]{1,15}$`)
)

// MaxRateLimit bounds what is read of the field, in bytes. A longer one is not judged.
const MaxRateLimit = 4096

// Quota is what the field asks for.
type Quota struct {
	Given bool
	Wait  time.Duration // nothing is left for so long
	Space time.Duration // between two requests, so that what is left lasts
	Until time.Duration // how long space holds
}

// RateLimit reads the field: r is what is left of a quota, t the seconds until it is filled again. The longest times of
// all quotas hold, and more than a year is a day (docs/trust/politeness.md, rule 14).
func RateLimit(field string) (q Quota) {
	if len(field) > MaxRateLimit || !limitField.MatchString(field) {
		return Quota{}
	}
	for rest := field; ; {
		at := limitQuota.FindStringIndex(rest)
		if at == nil {
			return q
		}
		rest = rest[at[1]:]
		left, reset := int64(-1), int64(-1)
		for {
			m := limitParam.FindStringSubmatch(rest)
			if m == nil {
				break
			}
			rest = rest[len(m[0]):]
			if m[1] != "r" && m[1] != "t" {
				continue
			}
			n, err := strconv.ParseInt(m[2], 10, 64)
			if err != nil || n < 0 || !limitWhole.MatchString(m[2]) {
				return Quota{}
			}
			if m[1] == "r" {
				left = n
			} else {
				reset = n
			}
		}
		if left >= 0 && reset >= 0 {
			q.add(left, reset)
		}
	}
}

func (q *Quota) add(left, reset int64) {
	t := day
	if reset <= int64(365*day/time.Second) {
		t = time.Duration(reset) * time.Second
	}
	q.Given = true
	switch {
	case left == 0:
		q.Wait = max(q.Wait, t)
	case t > 0:
		q.Space, q.Until = max(q.Space, t/time.Duration(left)), max(q.Until, t)
	}
}
