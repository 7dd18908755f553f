// Package freshness estimates how often pages change, and divides a budget of visits among them. It is pure: times and
// numbers in, numbers out.
//
// # How fast a page changes
//
// Changes are taken for a Poisson process (Cho and Garcia-Molina, "Estimating frequency of change", ACM TOIT 3(3), 2003). A
// visit tells whether the page changed since the visit before, not how often, and visits come at irregular times. A
// History keeps what the likelihood of the rate λ needs:
//
//	L(λ) ∝ λ^d · e^(−λU) · ∏ (1 − e^(−λ·w))
//
// U is the time without a change, each w the time between two visits that told of one. A visit whose answer dates the last
// change (Last-Modified) says more: d counts these, and the time since that change is in U (section 5 there). The prior is
// Gamma(a, b), and Rate is the mean of the posterior. The mean has no closed form with undated changes, so that it is
// integrated over ln λ. Unlike the estimator of maximum likelihood it is finite for a page that changed at each visit, and
// above zero for one that never did.
//
// # Which page gets how many visits
//
// A page of rate λ that is visited f times a day, evenly, is fresh for a share F = (1 − e^(−r))/r of the time, r = λ/f.
// Policy.Allot shares a budget so that the sum of F is the largest (Cho and Garcia-Molina, "Effective page refresh policies
// for Web crawlers", ACM TODS 28(4), 2003): the gain of one more visit, dF/df = (1 − (1+r)·e^(−r))/λ, is the same for all
// pages that are within their bounds, and that one multiplier is found by bisection. A page that changes too often gets
// few visits: none would keep it fresh.
//
// Budget that no page needs is spent on learning. The prior Unknown rests on what most pages are like, so that a page that
// changes each hour would take a month to be believed. Under the prior Quick any page may be such a one: what that rate is
// worth beyond Rate is shared out as far as the budget goes, and shrinks with each visit that finds nothing new.
//
// # Bounds
//
// No page is visited more often than Policy.Min lets it, nor than it takes to be fresh for Policy.Enough of the time, nor
// while its server says that the answer holds. No page is visited less often than Policy.Max says, unless the budget is
// too small for that. Hints are hints: each counts for at most one change, and a hint never moves an interval out of these bounds.
package freshness
