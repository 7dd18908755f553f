package audit

import (
	"regexp"
	"strconv"
	"time"
)

// The field RateLimit (draft-ietf-httpapi-ratelimit-headers) is a list of strings with parameters, as RFC 9651 writes
// such things. What does not fit is malformed as a whole, and asks for nothing.
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

// maxLimit bounds what is read of the field, in octets. A longer one is not judged.
const maxLimit = 4096

// quota is what the field asks for.
type quota struct {
	given bool
	wait  time.Duration // nothing is left for so long
	space time.Duration // between two requests, so that what is left lasts
	until time.Duration // how long space holds
}

// rateLimit reads the field: r is what is left of a quota, t the seconds until it is filled again. The longest times of
// all quotas hold, and more than a year is a day (docs/politeness.md, rule 14).
func rateLimit(field string) (q quota) {
	if len(field) > maxLimit || !limitField.MatchString(field) {
		return quota{}
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
				return quota{}
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

func (q *quota) add(left, reset int64) {
	t := day
	if reset <= int64(365*day/time.Second) {
		t = time.Duration(reset) * time.Second
	}
	q.given = true
	switch {
	case left == 0:
		q.wait = max(q.wait, t)
	case t > 0:
		q.space, q.until = max(q.space, t/time.Duration(left)), max(q.until, t)
	}
}
