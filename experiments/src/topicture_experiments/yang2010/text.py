"""What the report on Yang et al. 2010 says besides its numbers."""

__all__ = ["EQUATIONS", "HEAD", "REASONS", "TITLES"]

TITLES = {
    "corel-sift": "Corel-5k, SIFT bags",
    "corel-deep": "Corel-5k, deep words",
    "msrc-sift": "MSRC v2, SIFT bags",
    "msrc-deep": "MSRC v2, deep words",
}

HEAD = """\
**Data.** The paper's Alipr (2,359 images, 93 tags) and LabelMe pictures (4,053 images, 291 tags) are not available.
Instead: 2,500 random images of Corel-5k with the original words that occur more than three times, and all of MSRC v2,
whose every pixel has a true word. *sift*: as in the paper a region is a bag of SIFT words (1,000 patches per image, a
codebook of 1,000 words); Corr-LDA, which needs numbers, sees 46 blob features of the same regions. *deep*: one word per
region from a codebook of deep features, and for Corr-LDA the features themselves (40 principal components). Regions
are SLIC's, 6 to 10 per image (the paper: normalized cuts). Codebooks are found by k-means on all pictures of a set,
which sees no captions (the paper: on 500 random pictures).

**Models.** *emm-margin* is the paper's EMM_d, *emm-ml* EMM_m. All use this package's defaults, except that Corr-LDA has
200 topics (as in the paper; one start, at most 60 iterations) and E-steps are in float32. The defaults of DBA and EMM
were chosen by cross-validation on training images only: of Corel-5k and a Corel subset by their original blobs, and of
MSRC by SIFT bags. The same pictures occur again in the folds below, but no setting was chosen by the figures below.
Regions of captioned images: DBA and EMM_m keep the label term, EMM_d is limited to the caption's words, Corr-LDA infers
with the words. *word frequency* gives every image the words of most training images (and the words of its caption
first, where the caption is given)."""

REASONS = """\
**EMM_m and DBA.** They can't differ as the paper reports: with equal rates EMM_m is DBA with alpha = 1, and gives the
same numbers up to rounding; cross-validation prefers alpha = 1 to smaller and to learned values (section *How the
defaults were chosen*). Learned rates only add a bias for each class. The exponential prior is no sparser than the
Dirichlet that it equals.

**Why everything learned is worse than word frequency on Corel** ("full bound" below). With hundreds of classes most of
a region's probability soon leaves its image's own tags. The learned label weights then soon fall to their lower limit,
training goes on without labels, and the priors fit unlabelled regions. A large fixed label weight and fixed priors
repair that; they are the defaults.

**Corr-LDA.** It sees the regions' real-valued features, DBA and EMM only their visual words. A likely reason for its
lead here is that the codebook loses more than aligning topics with tags gains, but this was not tested separately. The
paper does not say which features its Corr-LDA had.

**EMM_d.** It gains where features are informative (deep words of MSRC) and loses where they are not: on Corel's SIFT
bags it stays below word frequency, and more training images make it worse. What was tried on held-out training images
is in the last table; the cause was not found. Regions are ranked by their responsibilities alone, without the weights w
that the margin trains, so no gain is to be expected for regions of images without captions."""

EQUATIONS = """\
## Equations that were corrected

docs/models.md, section 5, has the proofs. What the models here do:

- Eq. (7) is upside down; with the right one Eq. (10) has the closed form gamma = 1 + s, and no Newton steps are needed.
- The bound lacks the normaliser of theta. `norm="jensen"` (default) has it; `norm="dropped"` is the paper's bound with
  Eq. (7) repaired. That is no bound of the likelihood, and learned rates run to 0 with it, so they stay as they are.
- Eq. (1) has no partition function. `label="printed"` (default) is the paper's term, whose likelihood grows with w
  without end, so w stays at `label_weight`; `label="chord"` is a bound of the Bernoulli likelihood, with learned w.
- With equal rates the normalised exponentials are Dir(1, ..., 1): EMM_m is then DBA with alpha = 1.
- theta^ = [(gamma - 1) rho]_+ has no zeros, since gamma - 1 is a sum of softmax values. `score="map"` has exact ones.
- The QP of EMM_d needs the linear term of the label likelihood; the multipliers have a box; the E-step with fixed
  multipliers may raise the objective, which `safeguard=True` (default) rules out by a line search for every image.
- E[ln beta] stands where the paper has ln beta; w >= 0."""
