package crawltest

import (
	"fmt"

	"curtsy/storage/plainly"
)

// signatures leaves out requests that are not signed. Where nobody knows the keys, nothing is shown, and the row says why.
func (t *Trial) signatures() Row {
	var found []Finding
	verified, unverified, why := 0, 0, ""
	for _, x := range t.all {
		v := t.Rules.Keys.Check(request{
			Method: x.Method, Scheme: "http", Authority: x.by, Target: x.Target, Header: x.Header, At: x.Start,
		})
		switch v.Outcome {
		case Invalid:
			found = append(found, t.Find(x, "with a signature that does not count: %s", v.Why))
		case Unverified:
			unverified, why = unverified+1, v.Why
		case botauthVerified:
			verified++
		}
	}
	evidence := fmt.Sprintf("%d of %s signed, and right", verified, plainly.Count(len(t.all), "request"))
	if unverified > 0 {
		evidence += fmt.Sprintf("; %d not verified: %s", unverified, why)
	}
	row := Sum(Signatures, verified, evidence, found)
	if row.Verdict == Unshown && unverified > 0 {
		row.Evidence = fmt.Sprintf("%s signed, and not verified: %s", plainly.Count(unverified, "request"), why)
	}
	return row
}
