// Package freshness estimates how often pages change, and divides a budget of visits among them. It is pure computation.
//
// # Estimating the rate of changes
//
// Changes are modelled as a Poisson process (Cho and Garcia-Molina, "Estimating frequency of change", ACM TOIT 3(3), 2003). A
// visit shows whether the page changed since the last one, but not how often. A History keeps the parameters of the likelihood
// of the rate λ:
//
//	L(λ) ∝ λ^d · e^(−λU) · ∏ (1 − e^(−λ·w))
//
// U is the time without a change, and each w the time between two visits with a change. d counts changes with a known time
// (Last-Modified), after which U includes the time to the visit (section 5 there). The prior is Gamma(a, b), and Rate is the
// mean of the posterior, integrated over ln λ, since undated changes leave no closed form. Unlike the maximum likelihood
// estimate it is finite for a page that changed at each visit, and positive for a page that never did.
//
// # Allotting visits
//
// A page of rate λ with f evenly spaced visits a day is fresh for a share F = (1 − e^(−r))/r of the time, r = λ/f.
// Policy.Allot maximises the sum of F (Cho and Garcia-Molina, "Effective page refresh policies for Web crawlers", ACM TODS
// 28(4), 2003): the gain of one more visit, dF/df = (1 − (1+r)·e^(−r))/λ, is equal for all pages within their bounds, and
// bisection finds it. A page that changes too often gets few visits: none would keep it fresh.
//
// Idle budget is spent on learning. Under the prior Unknown, a page that changes hourly would take a month to recognise; under
// the prior Quick any page may be such a one, less so with each visit without a change.
//
// # Bounds
//
// Policy.Min, Policy.Enough and the freshness lifetime of responses bound visits from above, Policy.Max from below unless the
// budget is too small. A hint counts for at most one change, and never moves an interval out of these bounds.
package freshness
