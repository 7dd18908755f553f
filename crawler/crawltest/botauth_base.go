package crawltest

import (
	"strings"

	"github.com/dunglas/httpsfv"
)

// base is what was signed (RFC 9421 2.5).
func base(r request, list httpsfv.InnerList) (string, botauthVerdict) {
	var b strings.Builder
	for _, c := range list.Items {
		id, err := httpsfv.Marshal(c)
		if err != nil {
			return "", invalid("a component cannot be written: %v", err)
		}
		value, v := component(r, c)
		if v.Outcome != none {
			return "", v
		}
		b.WriteString(id + ": " + value + "\n")
	}
	params, err := httpsfv.Marshal(list)
	if err != nil {
		return "", invalid("the parameters of the signature cannot be written: %v", err)
	}
	b.WriteString(`"@signature-params": ` + params)
	return b.String(), botauthVerdict{}
}

// component is the value of a component.
func component(r request, c httpsfv.Item) (string, botauthVerdict) {
	name, _ := c.Value.(string)
	path, query, _ := strings.Cut(r.Target, "?")
	switch params := c.Params.Names(); {
	case len(params) == 1 && params[0] == "key" && !strings.HasPrefix(name, "@"):
		return member(r, name, c.Params)
	case len(params) > 0:
		return "", unverified("it covers %s with parameters that are not read here", quote(name))
	}
	switch name {
	case "@method":
		return r.Method, botauthVerdict{}
	case "@authority":
		return authority(r), botauthVerdict{}
	case "@scheme":
		return r.Scheme, botauthVerdict{}
	case "@target-uri":
		return r.Scheme + "://" + r.Authority + r.Target, botauthVerdict{}
	case "@request-target":
		return r.Target, botauthVerdict{}
	case "@path":
		return path, botauthVerdict{}
	case "@query":
		return "?" + query, botauthVerdict{}
	case "host": // which net/http takes out of the others
		return r.Authority, botauthVerdict{}
	}
	if strings.HasPrefix(name, "@") {
		return "", unverified("it covers %s, which is not read here", quote(name))
	}
	values := field(r, name)
	if values == nil {
		return "", invalid("it covers the field %s, which the request has not", quote(name))
	}
	for i, v := range values {
		values[i] = strings.TrimSpace(v)
	}
	return strings.Join(values, ", "), botauthVerdict{}
}

// member is the value of a member of a dictionary (RFC 9421 2.1.2).
func member(r request, name string, p *httpsfv.Params) (string, botauthVerdict) {
	key, ok := text(p, "key")
	dictionary, err := httpsfv.UnmarshalDictionary(field(r, name))
	if !ok || err != nil {
		return "", invalid("it covers a member of %s, which is not a dictionary", quote(name))
	}
	m, ok := dictionary.Get(key)
	if !ok {
		return "", invalid("it covers the member %s of %s, which is not there", quote(key), quote(name))
	}
	var value string
	switch m := m.(type) {
	case httpsfv.Item:
		value, err = httpsfv.Marshal(m)
	case httpsfv.InnerList:
		value, err = httpsfv.Marshal(m)
	}
	if err != nil {
		return "", invalid("the member %s of %s cannot be written: %v", quote(key), quote(name), err)
	}
	return value, botauthVerdict{}
}

// field are the lines of a field, nil for none.
func field(r request, name string) (values []string) {
	for sent, v := range r.Header {
		if strings.EqualFold(sent, name) {
			values = append(values, v...)
		}
	}
	return values
}

// authority is the field Host in lower case and without the port that its scheme implies (RFC 9421 2.2.3).
func authority(r request) string {
	implied := map[string]string{"http": ":80", "https": ":443"}[r.Scheme]
	return strings.TrimSuffix(strings.ToLower(r.Authority), implied)
}
