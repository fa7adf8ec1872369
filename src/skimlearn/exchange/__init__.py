"""Models for other tools, and from them: ONNX, liblinear, scikit-learn."""
