package mirror

import "testing"

// Pages and lists that people read have words for each reason, also where there is no detail.
func TestReason_WhyInWords(t *testing.T) {
	t.Parallel()
	for _, r := range []Reason{
		Robots, OptOut, Scope, Budget, NoFollow, Held, Failed, Gone, NoArchive, Truncated, TooLarge, Damaged, NoOriginal,
		Redirect, NotFetched, ByScript, NotRewritten,
	} {
		if why := r.Why(""); why == "" || why == string(r) {
			t.Errorf("%s: %q", r, why)
		}
	}
	if got, want := ByScript.Why("status 404"), "only scripts name it: status 404"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
