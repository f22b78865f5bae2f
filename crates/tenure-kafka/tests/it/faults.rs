//! What the cluster may do to a holder.
