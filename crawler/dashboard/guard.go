package dashboard

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// guard lets in whoever has the token, and nobody whom another site's page sends.
type guard struct {
	token string
	names []string // host names by which it may be asked, beside addresses and localhost
	next  http.Handler
}

// paramToken is where the address that is printed has the token.
const paramToken = "token"

// cookieName is that of the cookie. Cookies know no ports: two dashboards of one machine have one each.
func (g *guard) cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "0"
	}
	return "curtsy_" + port
}

// session is what the cookie holds: who reads it does not learn the token.
func (g *guard) session() string { return derived(g.token, "session") }

// formToken is in each form: a page of another port of this machine is of the same site for a browser, and cannot read it.
func (g *guard) formToken() string { return derived(g.token, "form") }

func derived(token, what string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("curtsy dashboard " + what))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	heads(w.Header())
	switch {
	case !g.knows(r.Host):
		refuse(w, http.StatusMisdirectedRequest, "This is not a name of the dashboard: open it by the address that was printed.")
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
		w.Header().Set("Allow", "GET, HEAD, POST")
		refuse(w, http.StatusMethodNotAllowed, "The dashboard knows GET, HEAD and POST.")
	case r.URL.Path == "/healthz" || r.URL.Path == "/readyz": // they tell nothing but yes or no
		g.next.ServeHTTP(w, r)
	case !g.fromHere(r):
		refuse(w, http.StatusForbidden, "Another site's page sent this request. Open the dashboard by the address that was printed.")
	case g.opens(w, r):
	case !g.admitted(r):
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(w, http.StatusUnauthorized, "Open the dashboard by the address that was printed when it began, with its token: that of the file, if one was given, as /?token=TOKEN.")
	default:
		g.next.ServeHTTP(w, r)
	}
}

// heads are the fields of every answer. Nothing is loaded from elsewhere, no script runs but our own, nobody may frame a page,
// and nobody may keep it.
func heads(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types curtsy")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer a form would be sent from the origin null
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

func refuse(w http.ResponseWriter, status int, why string) {
	http.Error(w, why, status)
}

// knows reports whether a Host field can be ours: an address, localhost, or a name that the operator gave. A page of
// another site may have its name point here (DNS rebinding), but cannot have an address for its name.
func (g *guard) knows(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return strings.EqualFold(name, "localhost") || g.named(name)
}

// named reports whether the operator gave a name.
func (g *guard) named(name string) bool {
	return slices.ContainsFunc(g.names, func(known string) bool { return strings.EqualFold(known, name) })
}

// fromHere reports whether a request comes from our own page, or from nobody's. A browser says so in Sec-Fetch-Site, and with a
// POST in Origin; what is no browser sends neither, and needs the token.
func (g *guard) fromHere(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return false
	}
	origin, sent := r.Header["Origin"]
	if !sent {
		return r.Method != http.MethodPost
	}
	u, err := url.Parse(origin[0])
	return err == nil && len(origin) == 1 && strings.EqualFold(u.Host, r.Host) &&
		(u.Scheme == "http" || u.Scheme == "https" && g.named(u.Hostname())) // a reverse proxy ends TLS
}

// opens takes the token out of the address, sets the cookie, and leads to the page without it.
func (g *guard) opens(w http.ResponseWriter, r *http.Request) bool {
	q := r.URL.Query()
	if !q.Has(paramToken) {
		return false
	}
	if r.Method == http.MethodPost || !same(q.Get(paramToken), g.token) {
		refuse(w, http.StatusForbidden, "This is not the dashboard's token: it is another one each time that a dashboard begins.")
		return true
	}
	http.SetCookie(w, &http.Cookie{
		Name: g.cookieName(r), Value: g.session(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	q.Del(paramToken)
	to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/\\"), RawQuery: q.Encode()}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
	return true
}

// admitted reports whether a request brings the cookie, or the token in a field of its own.
func (g *guard) admitted(r *http.Request) bool {
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return r.Method != http.MethodPost && same(bearer, g.token)
	}
	for _, c := range r.CookiesNamed(g.cookieName(r)) {
		if same(c.Value, g.session()) {
			return true
		}
	}
	return false
}
