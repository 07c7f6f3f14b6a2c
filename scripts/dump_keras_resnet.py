"""Writes the HLO dumps of a training step of Keras's ResNet-50, compiled by TensorFlow for the CPU.

    dump_keras_resnet.py FOLDER

FOLDER gets resnet50.before_optimizations.hlo and resnet50.after_optimizations.hlo. The step is one of SGD
with momentum on 32 images of 224 x 224. It runs once, on zeros, because only then are the variables
that it updates donated as in real training. `scripts/bench-search --make-resnet` installs what this needs.
"""

import os
import pathlib
import sys
import tempfile

BATCH = 32
STAGES = ("before_optimizations", "after_optimizations")


def run_step():
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    model = keras.applications.ResNet50(weights=None)
    optimizer = keras.optimizers.SGD(0.01, momentum=0.9)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy()

    @tf.function(jit_compile=True)
    def step(images, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    step(tf.zeros([BATCH, *model.input_shape[1:]]), tf.zeros([BATCH], tf.int32))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as dumps:
        os.environ["XLA_FLAGS"] = f"--xla_dump_to={dumps} --xla_dump_hlo_as_text"
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        run_step()
        for stage in STAGES:
            # The step is the largest, should TensorFlow compile anything else.
            largest = max(pathlib.Path(dumps).glob(f"*{stage}.txt"),
                          key=lambda file: file.stat().st_size)
            file = folder / f"resnet50.{stage}.hlo"
            file.write_bytes(largest.read_bytes())
            print(file)


if __name__ == "__main__":
    main()
